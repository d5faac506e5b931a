"""Documents, queries and spans: reading, checking, chunking, preparing. Knows no models."""
