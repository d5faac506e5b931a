"""What the sections of a report say above their figures; line breaks mean nothing."""

EVALUATED = """Every figure is a mean of per-query values over the queries of a task, then over tasks. A corpus is
named by the SHA-256 of its content."""
HEADLINE = """Full dimension, float32; in brackets the 95% interval of a bootstrap over families of documents.
Intervals of two encoders that overlap do not say that they are equal: `stockpot compare` pairs them by query."""
CONTEB = """nDCG@10 from queries to the chunks of a task's flat index; the mean over tasks is unweighted."""
Q2C = """nDCG@10 over the flat index of all chunks of a task."""
Q2D = """nDCG@10, graded; a document counts as its best chunk."""
STORAGE = """One line a precision. On the Pareto front is what no other setting of the encoder beats or equals for as
many bytes or fewer."""
CHUNK_SIZE = """Drop: points lost from the first size to the last. Slope: least squares of nDCG@10 on log2 of the
size, so the gain per doubling. The paired tests set every size against the first, on the same queries."""
CONTEXT = """Document@K: the best-ranked target document is among the first K. Answer@K: an answer chunk is among the
first K of the whole index. EvidenceRecall@K: the share of the evidence's groups found among the document's first K
other chunks, where the document itself is among the first 10. Luck: a query with one target and one answer chunk,
ranked at random."""
SPANS = """SpanHit: one of the top chunks covers an answer span of the named document whole. UnionHit: they cover it
together without a gap. `@Ntok`: the chunks that fit N tokens of context."""
NEEDLE = """Normalised: the question's similarity to the haystack over that to the needle alone; NormalisedChance: the
same for the haystack's twin without a needle (dotted). Preferred: share of haystacks above their own twin. AUC: share
of all pairs of a haystack and a twin in which the haystack is above. The curves are of the default order without
expansion."""
