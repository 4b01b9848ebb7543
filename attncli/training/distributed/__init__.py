"""Training by several processes, which may run on several machines.

rank       number of this process and of all, from the environment that `torchrun` sets
shards     division of an update into a fixed number of parts
world      exchange of tensors between the processes; `ALONE` for a single one
order      what process 0 tells the others to do next
evaluation evaluations that all processes compute together
meeting    start and end of the processes' work together
stepper    updates of the weights by the sum over the shards
follower   work of every process but number 0

Process 0 leads: it reads the options, prepares the data, decides when the run ends, and
writes every file. The others follow its orders, so that everything is decided once.
"""
