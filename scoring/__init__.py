"""Text to tokens, n-grams, scores and intervals. Pure numpy and Arrow: no Beam, no file, no clock.

from scoring import Bleu, Cider, evaluate
"""

from scoring.evaluation import Score
from scoring.library import Evaluation, evaluate
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider

__all__ = ["Bleu", "Cider", "Evaluation", "Score", "evaluate"]
