"""A training loop of one's own: queries against whole documents, by a margin instead of a cross-entropy.

    trainer: own_trainer.py:MarginTrainer     # in the sweep's YAML, from the YAML's folder
    recipe:
      margin: {uniform: [0.05, 0.4]}

Under `stockpot sweep` it is searched, resumed, evaluated, logged and souped like the built-in one.
"""

from pathlib import Path

import numpy as np
import torch
from pydantic import Field

from trainables.layouts import DocumentInput
from trainables.mixture import Mixture
from trainables.recipe import LoopRecipe
from trainables.student import Student
from trainables.trainers import load_checkpoint, save_checkpoint


class MarginRecipe(LoopRecipe):  # every field can be fixed or searched; unknown keys are refused
    margin: float = Field(0.2, gt=0, description="by how much the right document should be nearer")
    documents: int = Field(8, ge=2, description="of a batch, one query each")
    learning_rate: float = Field(3e-4, gt=0)


class MarginTrainer:
    Recipe = MarginRecipe

    def __init__(self, start: Path, data: Path, recipe: MarginRecipe, device: str):
        self.recipe, self.data, self.step = recipe, Mixture.open(data).parts[0], 0
        self.student = Student.load(start, device=device).train()
        self.optimiser = torch.optim.AdamW(self.student.parameters(), lr=recipe.learning_rate)

    def train(self, steps: int) -> dict[str, float]:
        losses = []
        for self.step in range(self.step + 1, self.step + steps + 1):
            loss = self.loss(np.random.default_rng((self.recipe.seed, self.step)))
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            losses.append(loss.item())
        return {"loss": float(np.mean(losses))}

    def loss(self, rng: np.random.Generator) -> torch.Tensor:
        pairs = rng.choice(len(self.data), min(self.recipe.documents, len(self.data)), replace=False)
        ids = [self.data.prepared.encodings(place)[0] for place in self.data.pair_document[pairs].tolist()]
        documents = self.student.forward_documents([DocumentInput(one, np.array([[0, len(one)]])) for one in ids])
        queries = self.student.forward_queries([self.data.query_tokens[place] for place in self.data.pair_query[pairs].tolist()])
        cosine = torch.nn.functional.normalize(queries) @ torch.nn.functional.normalize(documents).T
        return torch.relu(self.recipe.margin + cosine - cosine.diagonal()[:, None]).mean()

    def save(self, folder: Path) -> None:
        save_checkpoint(folder, self.student, self.optimiser, self.recipe, self.step)

    def load(self, folder: Path) -> None:
        self.step = load_checkpoint(folder, self.student, self.optimiser)
