#!/usr/bin/env python3
"""Training steps of ResNet-50 in PyTorch, on the shapes of the rows gpu/training/resnet.

usage: bench/torch_resnet.py [--eager-only] [--steps N]

Prints one JSON object a row: batches of 64 and 256 images of 224 x 224, weights in f32, autocast to
bf16, channels last, stochastic gradient descent with momentum, eager and compiled. The loss is read
after every step, as in those rows of `hearth bench`. Medians. Needs CUDA.
"""

import argparse
import json

import torch
import torch_training
from torch import nn
from torch.nn import functional

BATCHES = (64, 256)
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, width, stride


class ConvNorm(nn.Sequential):
    def __init__(self, inputs, outputs, kernel, stride):
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.first, self.second = ConvNorm(inputs, width, 1, 1), ConvNorm(width, width, 3, stride)
        self.third = ConvNorm(width, 4 * width, 1, 1)
        changes = inputs != 4 * width or stride != 1
        self.shortcut = ConvNorm(inputs, 4 * width, 1, stride) if changes else nn.Identity()

    def forward(self, x):
        inner = functional.relu(self.second(functional.relu(self.first(x))))
        return functional.relu(self.third(inner) + self.shortcut(x))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, inputs = [], 64
        for count, width, stride in STAGES:
            for i in range(count):
                blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                inputs = 4 * width
        self.stem, self.blocks = ConvNorm(3, 64, 7, 2), nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, 1000)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.stem(x)), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


def training_step(batch, compiled):
    """A step that returns its loss as a number."""
    torch.backends.cudnn.benchmark = True
    model = ResNet50().cuda().train().to(memory_format=torch.channels_last)
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    images = torch.randn(batch, 3, 224, 224, device="cuda")
    images = images.to(memory_format=torch.channels_last)
    targets = torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        with torch.enable_grad(), torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(forward(images).float(), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def steps(batch, compiled=True):
    """The step by the name of how it runs."""
    made = {"eager": training_step(batch, False)}
    if compiled:
        made["compiled"] = training_step(batch, True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eager-only", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name()}))
    for batch in BATCHES:
        for name, step in steps(batch, not arguments.eager_only).items():
            seconds = torch_training.median_step(step, arguments.steps)
            torch_training.report(f"resnet50_{batch} {name}", seconds, images_per_s=batch / seconds)


if __name__ == "__main__":
    main()
