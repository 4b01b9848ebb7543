"""Updates of the weights: batches of an epoch, gradients, evaluation on the dev set."""
