"""Index notation by PyTorch: `einsum`, or the functions that its documentation shows, without gradients."""

import os

import torch
import torch.nn.functional as F
from index_cases import workloads

torch.set_num_threads(int(os.environ["PEER_THREADS"]))
torch.set_grad_enabled(False)


def calling(function, arrays):
    tensors = [torch.from_numpy(array) for array in arrays]
    return lambda: function(*tensors).numpy()


def einsum(text, arrays):
    if len(arrays) == 1:
        return calling(lambda x: torch.einsum(text, x).contiguous(), arrays)
    return calling(lambda *tensors: torch.einsum(text, *tensors), arrays)


def convolution(step=1, pad=0, turn=False):
    def f(x, k):
        k = k.flip(0, 1) if turn else k
        return F.conv2d(x[None, None], k[None, None], stride=step, padding=pad)[0, 0]

    return f


def haversine(x, y):
    u, v = torch.sin((x[:, None] - x) / 2), torch.sin((y[:, None] - y) / 2)
    return 12742 * torch.arcsin(torch.sqrt(u * u + torch.cos(x)[:, None] * torch.cos(x) * v * v))


def covariance(M, S):
    d = M[:, :, None] - M[:, None, :]
    return torch.einsum("mij,mn,nij->ij", d, S, d)


def cosine(a, b):
    return torch.einsum("sjk,sik->jik", a, b) / (torch.sqrt((a * a).sum(0))[:, None] * torch.sqrt((b * b).sum(0)))


def stencil(x):
    return (torch.roll(x, 1, 0) + torch.roll(x, -1, 0) + torch.roll(x, 1, 1) + torch.roll(x, -1, 1)) / 4


def nhwc_layer(I, K):
    # Tensors with channels last: no element moves.
    return F.conv2d(I.permute(0, 3, 1, 2), K.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)


BY_HAND = {
    "sum_opp": lambda X, Y: torch.sum(X * torch.log(Y.T)),
    "sum_part": lambda X, Y: torch.sum(X * torch.log(Y.T), dim=1),
    "row": lambda a: torch.sin(a).sum(dim=1),
    "conv1": convolution(),
    "conv2": lambda x, k: convolution(2, turn=True)(x, k)[:47, :47],
    "conv3": convolution(1, 3, turn=True),
    "covariance": covariance,
    "haversine": haversine,
    "sum(1": lambda x: torch.sum(1 + torch.tanh(x)),
    "cosine": cosine,
    "contraction": lambda a, b: torch.einsum("knc,ck->kn", a, b.conj()),
    "periodic": stencil,
    "histogram": lambda J, h: h + torch.bincount(J, minlength=len(h)),
    "NHWC": nhwc_layer,
    "NCHW": lambda I, K: F.conv2d(I, K),
    "bags": lambda B, E: F.embedding_bag(B, E, mode="sum"),
    "edges": lambda A, B, P: torch.sqrt(((P[A] - P[B]) ** 2).sum(dim=1)),
    "forms": lambda x, A: torch.einsum("ni,ij,nj->n", x, A, x),
}


def by_hand(name, arrays):
    return calling(BY_HAND[name], arrays.values())


__getattr__ = workloads(einsum, by_hand)
