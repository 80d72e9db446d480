"""Index notation by opt_einsum: the path is found once."""

import opt_einsum
from index_cases import workloads


def einsum(text, arrays):
    if len(arrays) == 1:
        raise NotImplementedError("it is a view")
    expression = opt_einsum.contract_expression(text, *(array.shape for array in arrays))
    return lambda: expression(*arrays)


def by_hand(name, arrays):
    raise NotImplementedError(name)


__getattr__ = workloads(einsum, by_hand)
