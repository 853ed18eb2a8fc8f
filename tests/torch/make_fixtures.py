#!/usr/bin/python3
"""Trajectories of PyTorch's own SGD and AdamW on small cases, for tests/unit/test_train_torch.c.

The networks are written out here as anyone would write them with PyTorch: X in full, every padded
position kept, dense gradients, autograd.  Double precision.  Rerun: /usr/bin/python3 make_fixtures.py
(Debian package python3-torch)."""
import os
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))


def deep_attention(x, weights, skip, linear):
    """x (N, M, D), weights one (P_l, D) per layer: token rows mixed by S_l + c."""
    for l, w in enumerate(weights):
        h = torch.einsum("imk,lk->iml", x, w) / x.shape[-1] ** 0.5
        scores = torch.einsum("iml,inl->imn", h, h)
        if not linear:
            scores = torch.softmax(scores, dim=-1)
        if l + 1 < len(weights):
            x = torch.einsum("imn,ink->imk", scores, x) + skip * x
    return scores


def sgd(name, dim, tokens, ranks, skip, linear, rate, decay, batch, repeat, seed):
    g = torch.Generator().manual_seed(seed)
    count = 3 * batch - 2  # the last batch is short
    x = torch.randn(count, tokens, dim, generator=g)
    size = 0.4 if linear else 1.0  # linear scores grow like the eighth power of the weights
    teacher = [size * torch.randn(r, dim, generator=g) for r in ranks]
    y = deep_attention(x, teacher, skip, linear)
    start = torch.cat([0.9 * size * torch.randn(r, dim, generator=g) for r in ranks])
    student = [w.clone().requires_grad_() for w in torch.split(start, list(ranks))]
    optimizer = torch.optim.SGD(student, lr=rate, weight_decay=decay)
    path, losses = [], []
    while len(path) < 50:
        for first in range(0, count, batch):
            for _ in range(repeat):
                optimizer.zero_grad()
                loss = ((deep_attention(x[first:first + batch], student, skip, linear) - y[first:first + batch]) ** 2).sum() / dim
                loss.backward()
                optimizer.step()
            path.append(torch.cat([w.detach().clone() for w in student]).numpy())
            losses.append(float(loss))
    path = path[:50]
    np.savez_compressed(os.path.join(HERE, name), x=x, y=y.reshape(count, -1), start=start, path=np.stack(path),
                        setup=np.array([dim, tokens, batch, repeat, rate, decay]))


class Classifier(torch.nn.Module):
    def __init__(self, vocab, dim, rank, layers, classes, scale, bias, start, g):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocab, dim)
        self.attention = torch.nn.ModuleList(torch.nn.Linear(dim, rank, bias=bias) for _ in range(layers))
        self.readout = torch.nn.Linear(dim, classes)
        self.scale = scale
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(0.3 * torch.randn(p.shape, generator=g))
            for a in self.attention:
                a.weight.mul_(start)

    def forward(self, ids):
        x = self.embedding(ids)
        for a in self.attention:
            h = a(x)
            x = torch.softmax(h @ h.transpose(1, 2) / self.scale, dim=-1) @ x
        return self.readout(x.mean(dim=1))


def adamw(name, vocab, dim, rank, layers, classes, longest, bias, scale, rate, decay, epsilon, batch, seed):
    g = torch.Generator().manual_seed(seed)
    count = 22
    lengths = torch.randint(3, longest + 1, (count,), generator=g)
    ids = torch.zeros(count, longest, dtype=torch.long)
    for i, n in enumerate(lengths):  # tokens of the upper third never occur
        ids[i, :n] = torch.randint(4, 2 * vocab // 3, (int(n),), generator=g)
        ids[i, 0], ids[i, n - 1] = 2, 3
    labels = torch.randint(0, classes, (count,), generator=g)
    net = Classifier(vocab, dim, rank, layers, classes, scale, bias, 1.0, g)

    def weights():
        zero = torch.zeros(layers, rank)
        biases = torch.stack([a.bias.detach() for a in net.attention]) if bias else zero
        parts = [net.embedding.weight, torch.stack([a.weight.detach() for a in net.attention]), biases,
                 net.readout.weight, net.readout.bias]
        return np.concatenate([p.detach().numpy().ravel() for p in parts])

    start = weights()
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=decay, eps=epsilon)
    orders, path, losses = [], [], []
    while len(path) < 50:
        order = torch.randperm(count, generator=g)
        orders.append(order.numpy())
        for first in range(0, count, batch):
            pick = order[first:first + batch]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(ids[pick]), labels[pick])
            loss.backward()
            optimizer.step()
            path.append(weights())
            losses.append(float(loss))
    np.savez_compressed(os.path.join(HERE, name), ids=ids.numpy(), length=lengths.numpy(), label=labels.numpy(),
                        order=np.stack(orders), start=start, path=np.stack(path[:50])[[0, 9, 24, 49]],
                        loss=np.array(losses[:50]),
                        setup=np.array([vocab, dim, rank, layers, classes, longest, bias, scale, rate, decay, epsilon, batch]))


sgd("sgd_two.npz", 40, 2, (1, 1), 1.0, False, 3.0, 0.002, 8, 3, 1)
sgd("sgd_deep.npz", 24, 3, (1, 2, 1), 0.5, False, 1.0, 0.01, 10, 2, 2)
sgd("sgd_linear.npz", 24, 3, (2, 1), 0.5, True, 0.2, 0.01, 10, 2, 3)
adamw("adamw_paper.npz", 48, 12, 6, 2, 3, 9, False, 12.0, 5e-3, 0.01, 1e-8, 4, 4)
adamw("adamw_bias.npz", 48, 11, 5, 3, 4, 9, True, 5 ** 0.5, 2e-2, 0.1, 1e-4, 5, 5)
