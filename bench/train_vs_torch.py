#!/usr/bin/python3
"""Cost of training against PyTorch's, in one run on the same threads.

  /usr/bin/python3 bench/train_vs_torch.py build/stair [--threads 1] [--trec TRAIN.label --vocab VOCAB.txt]

SGD: one epoch at the sizes of the paper's figure (D = 500, alpha = 15, batches of 200 used 3 times).
"written out" is the network as one writes it, tokens mixed in D dimensions; "projected first" is the
same function computed from Z = w x, the least PyTorch has to do.  Classifier: one epoch of the paper's
network (vocabulary of 30522, D = 128, two layers of rank 64, batches of 16 padded to 32), dense AdamW.
Both sides in turn, several times, best of each, in processor time on one thread: other load on the
machine then does least harm.  An epoch of stair is the difference of a longer and a shorter run, so that set-up does not count.
PyTorch in single precision, its default."""
import argparse
import os
import random
import subprocess
import tempfile
import time
import torch

parser = argparse.ArgumentParser()
parser.add_argument("stair")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--trec")
parser.add_argument("--vocab")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.manual_seed(1)


def clock():
    """processor time of this process and its children on one thread, else time on the wall"""
    return sum(os.times()[:4]) if args.threads == 1 else time.perf_counter()


def seconds(work):
    start = clock()
    work()
    return clock() - start


def stair_epoch(command, few, many):
    """seconds of one epoch: runs of `many` and `few` epochs, one after the other"""
    def run(epochs):
        subprocess.run([args.stair, *command, "--epochs", str(epochs), "--threads", str(args.threads), "--quiet", "--csv"],
                       check=True, stdout=subprocess.DEVNULL)
    short = min(seconds(lambda: run(few)) for _ in range(2))
    return (seconds(lambda: run(many)) - short) / (many - few)


# ---- SGD ---------------------------------------------------------------------------------------------

D, N, M, BATCH, REPEAT = 500, 7500, 2, 200, 3
teacher = [torch.randn(D, 1), torch.randn(D, 1)]
x = torch.randn(N, M, D)


def written_out(x, w1, w2):
    h = torch.einsum("imk,kl->iml", x, w1) / D ** 0.5
    mixed = torch.einsum("imn,ink->imk", torch.softmax(torch.einsum("iml,inl->imn", h, h), -1), x) + x
    h = torch.einsum("imk,kl->iml", mixed, w2) / D ** 0.5
    return torch.softmax(torch.einsum("iml,inl->imn", h, h), -1)


def projected_first(x, w1, w2):
    z = x @ torch.cat([w1, w2], 1) / D ** 0.5
    h = z[..., :1]
    s = torch.softmax(h @ h.transpose(1, 2), -1)
    h = s @ z[..., 1:] + z[..., 1:]
    return torch.softmax(h @ h.transpose(1, 2), -1)


def sgd_epoch(network, batches, student, optimizer):
    for a, b in batches:
        for _ in range(REPEAT):
            optimizer.zero_grad()
            ((network(a, *student) - b) ** 2).sum().div(D).backward()
            optimizer.step()


with torch.no_grad():
    y = written_out(x, *teacher)
    worst = (written_out(x[:50], *teacher) - projected_first(x[:50], *teacher)).abs().max()
assert worst < 1e-5, "the two ways of writing the network differ"
batches = [(x[i:i + BATCH].contiguous(), y[i:i + BATCH].contiguous()) for i in range(0, N, BATCH)]
student = [(0.9 * torch.randn(D, 1)).requires_grad_() for _ in range(2)]
optimizer = torch.optim.SGD(student, lr=15, weight_decay=0.07 / D)
best = {}
for _ in range(args.rounds):
    for name, network in (("written out", written_out), ("projected first", projected_first)):
        spent = seconds(lambda: [sgd_epoch(network, batches, student, optimizer) for _ in range(5)]) / 5
        best[name] = min(best.get(name, spent), spent)
    for name, extra in (("stair", []), ("stair --wide", ["--wide"])):
        spent = stair_epoch(["sgd", "attention:layers=2,tokens=2,skip=1", "--test-samples", "8", *extra], 1, 101)
        best[name] = min(best.get(name, spent), spent)
print(f"SGD, one epoch (38 batches x 3 steps), {args.threads} thread(s)")
for name, spent in best.items():
    print(f"  {name:16s} {1e3 * spent:9.2f} ms   {spent / best['stair']:6.1f} x stair")
steps = 3 * N / BATCH
print(f"  {1e6 * best['stair'] / steps:.1f} us a step; 4 M D P = {4 * M * D * 2 * BATCH / 1e6:.2f} Mflop -> "
      f"{4 * M * D * 2 * BATCH * steps / best['stair'] / 1e9:.1f} Gflop/s on X")

# ---- classifier ----------------------------------------------------------------------------------------

CLASSES = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
VOCAB, DIM, RANK, LONGEST = 30522, 128, 64, 32


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCAB, DIM)
        self.attention = torch.nn.ModuleList(torch.nn.Linear(DIM, RANK, bias=False) for _ in range(2))
        for a in self.attention:
            torch.nn.init.normal_(a.weight, std=1e-4)
        self.readout = torch.nn.Linear(DIM, len(CLASSES))

    def forward(self, ids):
        x = self.embedding(ids)
        for a in self.attention:
            h = a(x)
            x = torch.softmax(h @ h.transpose(1, 2) / DIM, -1) @ x
        return self.readout(x.mean(1))


def made_up(folder):
    """a stand-in of TREC's size and word statistics, for machines that have no TREC"""
    rng = random.Random(1)
    words = [f"w{i}" for i in range(VOCAB - 5)]
    vocab, data = os.path.join(folder, "vocab.txt"), os.path.join(folder, "made_up.label")
    open(vocab, "w").write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
    with open(data, "w") as out:
        for _ in range(5452):
            text = " ".join(words[min(int(1 / (rng.random() + 1e-4)), 8699)] for _ in range(rng.randint(6, 17)))
            out.write(f"{rng.choice(CLASSES)}:x {text}\n")
    return data, vocab


with tempfile.TemporaryDirectory() as folder:
    data, vocab = (args.trec, args.vocab) if args.trec else made_up(folder)
    lines = subprocess.run([args.stair, "tokenize", "--vocab", vocab, data], check=True, capture_output=True, text=True)
    ids = torch.zeros(len(lines.stdout.splitlines()), LONGEST, dtype=torch.long)
    for i, line in enumerate(lines.stdout.splitlines()):
        row = torch.tensor([int(t) for t in line.split()])
        ids[i, :len(row)] = row
    labels = torch.tensor([CLASSES.index(line.split(b":")[0].decode()) for line in open(data, "rb")])
    keep = torch.randperm(len(ids))[len(ids) // 5:]
    net = Classifier()
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-5)

    def torch_epoch():
        order = keep[torch.randperm(len(keep))]
        for first in range(0, len(order), 16):
            pick = order[first:first + 16]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(ids[pick]), labels[pick]).backward()
            optimizer.step()

    best = {}
    for _ in range(args.rounds):
        spent = seconds(torch_epoch)
        best["torch"] = min(best.get("torch", spent), spent)
        spent = stair_epoch(["train", "--data", data, "--vocab", vocab], 1, 5)
        best["stair"] = min(best.get("stair", spent), spent)
count = (len(keep) + 15) // 16
print(f"classifier, one epoch ({count} steps, and stair's with its validation), {'TREC' if args.trec else 'made up'}")
for name, spent in best.items():
    print(f"  {name:16s} {1e3 * spent:9.1f} ms   {spent / best['stair']:6.1f} x stair   {1e3 * spent / count:.2f} ms a step")
