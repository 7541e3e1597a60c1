"""A complete provider in one file, as a newcomer would write it: a parrot that repeats the last words it heard."""

from dataclasses import dataclass

from michelangelo.lsq import parameter
from michelangelo.models import Completion, Model, Request, provider


@dataclass(frozen=True)
class ToySettings:
    words: int = parameter(2, "How many words it repeats.", low=1, high=99)


@provider("toy")
class ToyModel(Model):
    title = "Parrots"
    Settings = ToySettings
    models = ("polly", "jack")
    context_window = 20_000

    def price_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (3 * prompt_tokens + 15 * completion_tokens) / 1e6

    async def complete(self, request: Request) -> Completion:
        heard = request.messages[-1]["content"].split()
        said = heard[-self.settings.words :]
        cost = self.price_usd(len(heard), len(said))
        return Completion(" ".join(said), prompt_tokens=len(heard), completion_tokens=len(said), cost_usd=cost)
