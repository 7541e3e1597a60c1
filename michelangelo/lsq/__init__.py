"""What any task is made of."""

from michelangelo.lsq.instance import KINDS, Certificate, Instance, Segment, Segments
from michelangelo.lsq.parameters import Parameter, parameter
from michelangelo.lsq.randomness import Stream
from michelangelo.lsq.registry import get_task, task, tasks, unregister
from michelangelo.lsq.score import Score
from michelangelo.lsq.task import Anatomy, Chance, Cheat, Reading, Scorable, Solver, Task
from michelangelo.lsq.tokenizers import DEFAULT_TOKENIZER, Tokenizer, get_tokenizer

__all__ = [
    "DEFAULT_TOKENIZER",
    "KINDS",
    "Anatomy",
    "Certificate",
    "Chance",
    "Cheat",
    "Instance",
    "Parameter",
    "Reading",
    "Scorable",
    "Score",
    "Segment",
    "Segments",
    "Solver",
    "Stream",
    "Task",
    "Tokenizer",
    "get_task",
    "get_tokenizer",
    "parameter",
    "task",
    "tasks",
    "unregister",
]
