#!/usr/bin/env python3
"""Writes tests/golden/layers.txt: what PyTorch gives for layers and optimizers, in f64.

A file is a list of cases:

    case <name>
    array <name> <shape> : <elements>

Shapes are extents joined by x ("-" for rank 0); elements are hexadecimal, so nothing is lost. Run it
with PyTorch 2 for the CPU after changing it; the file is checked in.
"""

import pathlib

import torch

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "layers.txt"
lines = []


def array(name, value):
    shape = "x".join(map(str, value.shape)) or "-"
    elements = " ".join(float(x).hex() for x in value.detach().reshape(-1).tolist())
    lines.append(f"array {name} {shape} : {elements}")


def parameters(module):
    for name, value in module.state_dict().items():
        array(name, value)


def gradients(module):
    for name, value in module.named_parameters():
        array("gradient." + name, value.grad)


def recurrent(name, kind, **options):
    torch.manual_seed(len(lines))
    module = kind(3, 5, batch_first=True, **options)
    ways = 2 if module.bidirectional else 1
    x = torch.randn(2, 4, 3, requires_grad=True)
    states = [torch.randn(ways, 2, 5) for _ in range(2 if kind is torch.nn.LSTM else 1)]
    output, last = module(x, tuple(states) if len(states) == 2 else states[0])
    last = last if isinstance(last, tuple) else (last,)
    (output.square().sum() + sum((each * (i + 1)).sum() for i, each in enumerate(last))).backward()
    lines.append(f"case {name}")
    parameters(module)
    array("x", x)
    for i, each in enumerate(states):
        array(f"state.{i}", each)
    array("output", output)
    for i, each in enumerate(last):
        array(f"last.{i}", each)
    array("gradient.x", x.grad)
    gradients(module)


def split(value, name, result):
    for part, letter in zip(value.chunk(3), "qkv"):
        result[f"{name}.{letter}_proj.{'weight' if value.dim() == 2 else 'bias'}"] = part


def renamed(module):
    """The state with attention's projections apart, as Hearth has them."""
    result = {}
    for name, value in module.state_dict().items():
        if ".in_proj_" in name:
            split(value, name.rsplit(".", 1)[0], result)
        else:
            result[name.replace("out_proj", "o_proj")] = value
    return result


def transformer(name, norm_first):
    torch.manual_seed(len(lines))
    options = dict(dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first)
    encoder = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 12, **options), 2, enable_nested_tensor=False)
    decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(8, 2, 12, **options), 2)
    for each in list(encoder.parameters()) + list(decoder.parameters()):
        torch.nn.init.normal_(each, 0.1, 0.4)
    source = torch.randn(2, 5, 8, requires_grad=True)
    target = torch.randn(2, 3, 8, requires_grad=True)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    memory = encoder(source, src_key_padding_mask=padding)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    output = decoder(target, memory, tgt_mask=mask, memory_key_padding_mask=padding)
    output.square().sum().backward()
    lines.append(f"case {name}")
    for key, value in renamed(encoder).items():
        array("encoder." + key, value)
    for key, value in renamed(decoder).items():
        array("decoder." + key, value)
    for key, value in (("source", source), ("target", target), ("memory", memory),
                       ("output", output), ("gradient.source", source.grad),
                       ("gradient.target", target.grad)):
        array(key, value)


def attention(name):
    """Queries, keys and values of their own, and the weights of each head."""
    torch.manual_seed(len(lines))
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    for each in module.parameters():
        torch.nn.init.normal_(each, 0.1, 0.4)
    query, key, value = (torch.randn(2, n, 8, requires_grad=True) for n in (3, 5, 5))
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    mask = torch.randn(3, 5) > 1
    output, weights = module(query, key, value, key_padding_mask=padding, attn_mask=mask,
                             average_attn_weights=False)
    (output.square().sum() + weights.square().sum()).backward()
    lines.append(f"case {name}")
    state = {}
    for each, given in module.state_dict().items():
        if each.startswith("in_proj_"):
            for part, letter in zip(given.chunk(3), "qkv"):
                state[f"{letter}_proj.{each[len('in_proj_'):]}"] = part
        else:
            state[each.replace("out_proj", "o_proj")] = given
    for each, given in state.items():
        array("weight." + each, given)
    for each, given in (("query", query), ("key", key), ("value", value), ("mask", mask),
                        ("output", output), ("weights", weights), ("gradient.query", query.grad),
                        ("gradient.key", key.grad), ("gradient.value", value.grad)):
        array(each, given)


def same_conv(name):
    """An even kernel, and gaps in it: more zeros behind than in front."""
    torch.manual_seed(len(lines))
    module = torch.nn.Conv2d(2, 3, (4, 3), dilation=(1, 2), padding="same")
    x = torch.randn(2, 2, 5, 6, requires_grad=True)
    output = module(x)
    output.square().sum().backward()
    lines.append(f"case {name}")
    parameters(module)
    for key, value in (("x", x), ("output", output), ("gradient.x", x.grad)):
        array(key, value)
    gradients(module)


def loss_of(w, b, target):
    return ((w - target).square() * 0.5).sum() + torch.sin(w).sum() + (b**4).sum() + (w[0] * b).sum()


def trajectory(name, make):
    """Ten steps of falling rates; make(parameters) gives a function of the rate that steps them."""
    torch.manual_seed(7)
    w = torch.randn(4, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    target = torch.randn(4, 3)
    lines.append(f"case {name}")
    for key, value in (("w", w), ("b", b), ("target", target)):
        array(key, value)
    step = make([w, b])
    for i in range(10):
        w.grad = b.grad = None
        loss_of(w, b, target).backward()
        step(0.05 / (i + 1))
        array(f"w.{i}", w)
        array(f"b.{i}", b)


def of_torch(kind, **options):
    def make(values):
        optimizer = kind(values, lr=1.0, **options)

        def step(rate):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.step()
        return step
    return make


def by_hand(rule):
    """rule(state, w, g, rate, t) gives the new value; state is a dict for each parameter."""
    def make(values):
        states = [{} for _ in values]
        count = [0]

        def step(rate):
            count[0] += 1
            with torch.no_grad():
                for state, value in zip(states, values):
                    value.copy_(rule(state, value, value.grad, rate, count[0]))
        return step
    return make


def lion(state, w, g, rate, t):
    m = state.get("m", torch.zeros_like(w))
    state["m"] = 0.99 * m + 0.01 * g
    return w * (1 - rate * 0.1) - rate * torch.sign(0.9 * m + 0.1 * g)


def adan(state, w, g, rate, t, prox=True):
    difference = g - state.get("g", g)
    state["g"] = g.clone()
    for key, beta, now in (("m", 0.98, g), ("d", 0.92, difference),
                           ("v", 0.99, (g + 0.92 * difference) ** 2)):
        state[key] = beta * state.get(key, torch.zeros_like(w)) + (1 - beta) * now
    m, d = state["m"] / (1 - 0.98**t), state["d"] / (1 - 0.92**t)
    taken = rate * (m + 0.92 * d) / ((state["v"] / (1 - 0.99**t)).sqrt() + 1e-8)
    return (w - taken) / (1 + rate * 0.1) if prox else w * (1 - rate * 0.1) - taken


def muon(state, w, g, rate, t):
    if w.dim() != 2:
        return w - rate * g
    state["m"] = 0.95 * state.get("m", torch.zeros_like(w)) + g
    u = g + 0.95 * state["m"]
    x = u / u.norm()
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return w * (1 - rate * 0.1) - rate * max(1, w.shape[0] / w.shape[1]) ** 0.5 * x


def cautious(state, w, g, rate, t):
    state["m"] = 0.9 * state.get("m", torch.zeros_like(w)) + 0.1 * g
    state["v"] = 0.999 * state.get("v", torch.zeros_like(w)) + 0.001 * g * g
    decay = torch.where((w >= 0) == (state["m"] >= 0), w * rate * 0.3, 0.0)
    m, v = state["m"] / (1 - 0.9**t), state["v"] / (1 - 0.999**t)
    return w - decay - rate * m / (v.sqrt() + 1e-5)


def rosenbrock(name, **options):
    x = torch.tensor([-1.5, 2.0, 0.5], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **options)

    def closure():
        optimizer.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        return loss
    lines.append(f"case {name}")
    for i in range(4):
        loss = optimizer.step(closure)
        array(f"loss.{i}", loss)
        array(f"x.{i}", x)


class Block(torch.nn.Module):
    """The basic block of residual networks, its parts named as torchvision names them."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        nn = torch.nn
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(torch.nn.Module):
    """The same of bottlenecks."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        nn = torch.nn
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = None
        if inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        inner = torch.relu(self.bn1(self.conv1(x)))
        inner = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(inner)))))
        return torch.relu(inner + (x if self.downsample is None else self.downsample(x)))


class ResNet(torch.nn.Module):
    def __init__(self, small_images, block, expansion):
        super().__init__()
        nn = torch.nn
        kernel, stride = (3, 1) if small_images else (7, 2)
        self.conv1 = nn.Conv2d(2, 3, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(3)
        self.pool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(block(3, 3, 1))
        self.layer2 = nn.Sequential(block(3 * expansion, 6, 2), block(6 * expansion, 6, 1))
        self.fc = nn.Linear(6 * expansion, 4)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))


def resnet(name, small_images, height, width, block=Block, expansion=1):
    torch.manual_seed(len(lines))
    module = ResNet(small_images, block, expansion)
    for key, value in module.state_dict().items():
        if key.endswith("num_batches_tracked"):
            continue
        if "bn" in key or "downsample.1" in key:  # else all would be 0 and 1
            value.copy_(torch.rand_like(value) + 0.5)
    lines.append(f"case {name}")
    for key, value in module.state_dict().items():
        if not key.endswith("num_batches_tracked"):
            array("weight." + key, value)
    x = torch.randn(3, 2, height, width)
    array("x", x)
    array("evaluated", module.eval()(x))
    scores = module.train()(x)
    array("scores", scores)
    torch.nn.functional.cross_entropy(scores, torch.tensor([3, 0, 2])).backward()
    gradients(module)


def main():
    torch.set_default_dtype(torch.float64)
    for name, kind in (("rnn", torch.nn.RNN), ("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)):
        recurrent(name, kind)
        recurrent("bi" + name, kind, bidirectional=True)
    transformer("transformer", False)
    transformer("transformer_norm_first", True)
    optim = torch.optim
    trajectory("sgd", of_torch(optim.SGD, momentum=0.9, dampening=0.1, weight_decay=0.05))
    trajectory("sgd_nesterov", of_torch(optim.SGD, momentum=0.9, nesterov=True))
    trajectory("adam", of_torch(optim.Adam, eps=1e-5, weight_decay=0.05))
    trajectory("adam_amsgrad", of_torch(optim.Adam, betas=(0.5, 0.6), eps=1e-5, amsgrad=True))
    trajectory("adamw", of_torch(optim.AdamW, eps=1e-5, weight_decay=0.3))
    trajectory("adamw_amsgrad",
               of_torch(optim.AdamW, betas=(0.5, 0.6), eps=1e-5, weight_decay=0.3, amsgrad=True))
    trajectory("adagrad", of_torch(optim.Adagrad, lr_decay=0.2, eps=1e-5, weight_decay=0.05))
    trajectory("rmsprop", of_torch(optim.RMSprop, momentum=0.9, eps=1e-5, weight_decay=0.05))
    trajectory("rmsprop_centered", of_torch(optim.RMSprop, centered=True, eps=1e-5))
    trajectory("lion", by_hand(lion))
    trajectory("adan", by_hand(adan))
    trajectory("adan_no_prox", by_hand(lambda *given: adan(*given, prox=False)))
    trajectory("muon", by_hand(muon))
    trajectory("adamw_cautious", by_hand(cautious))
    rosenbrock("lbfgs", lr=0.001, max_iter=5, history_size=3)
    rosenbrock("lbfgs_strong_wolfe", lr=1, max_iter=6, line_search_fn="strong_wolfe")
    resnet("resnet", False, 33, 26)
    resnet("resnet_small_images", True, 7, 6)
    resnet("resnet_bottleneck", False, 33, 26, Bottleneck, 4)
    attention("multi_head_attention")
    same_conv("conv_same")
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
