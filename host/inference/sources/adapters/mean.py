"""Makes one adapter of several: the mean of what they change, in factors of as few ranks as train.py has.

    ENV/bin/python host/inference/sources/adapters/mean.py OUT ADAPTER...

with the environment of train.py. States of runs from the same seed lie so near to each other that their mean needs no
more ranks than one of them (what is cut off is shown), and it finds more than each (Wortsman et al. 2022, "model soups").
"""

import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file
from train import RANK


def mean(out, adapters):
    tensors, cut = {}, []
    learnt = [load_file(adapter) for adapter in adapters]
    matrices = sorted({name.removesuffix(".lora_A.weight") for own in learnt for name in own if "lora_A" in name})
    for matrix in matrices:
        have = [own for own in learnt if f"{matrix}.lora_A.weight" in own]
        inner, outer = ([own[f"{matrix}.lora_{side}.weight"].float() for own in have] for side in "AB")
        # The product of the two is the mean; thin factors of each keep the decomposition small.
        left, upper = torch.linalg.qr(torch.cat(outer, 1) / len(learnt))
        right, lower = torch.linalg.qr(torch.cat(inner).T)
        turned, strengths, back = torch.linalg.svd(upper @ lower.T)
        root = strengths[:RANK].sqrt()
        cut.append(strengths[RANK:].square().sum() / strengths.square().sum())
        tensors[f"{matrix}.lora_B.weight"] = left @ turned[:, :RANK] * root
        tensors[f"{matrix}.lora_A.weight"] = root[:, None] * back[:RANK] @ right.T
    save_file({name: np.ascontiguousarray(tensor.numpy().astype(np.float16)) for name, tensor in tensors.items()}, out)
    print(f"mean of {len(learnt)}; cut off: {100 * float(torch.stack(cut).mean()):.2f} % of the change")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    mean(sys.argv[1], sys.argv[2:])
