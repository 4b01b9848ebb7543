"""Training by several processes, which may run on several machines.

rank       number of this process and of all, from the environment that `torchrun` sets
shards     division of an update into a fixed number of parts, and their sum in a fixed order
world      exchange of tensors between the processes, and orders of process 0 to the others
evaluation evaluations that all processes compute together
meeting    start and end of the processes' work together
stepper    updates of the weights by the sum over the shards

Process 0 leads: it reads the options, prepares the data, decides when the run ends, and
writes every file. The others follow its orders, so that everything is decided once.
"""
