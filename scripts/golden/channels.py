#!/usr/bin/env python3
"""Writes tests/golden/channels.txt: what PyTorch gives for normalisation, losses and deform_conv2d.

A file is a list of cases, all of f64 but for what is named i64:

    case <name>
    <label> <dtype> <shape> : <elements>

`output` is the result, `upstream` weighs its elements, and `grad_<label>` is the gradient of the
weighted sum for that input. Shapes are extents joined by x ("-" for rank 0), floats have 15
digits; inputs are multiples of 2^-10, which those hold.
What PyTorch lacks is made of what it has: the transducer's loss by listing all alignments, the
deformable convolution by grid_sample. Run it with PyTorch for the CPU (2.15 wrote what is checked
in); the file is checked in.
"""

import itertools
import pathlib

import torch
import torch.nn.functional as F

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "channels.txt"
LINES = []


def line(label, tensor):
    floats = tensor.is_floating_point()
    words = [f"{x:.15g}" for x in tensor.detach().flatten().tolist()]
    shape = "x".join(map(str, tensor.shape)) or "-"
    LINES.append(f"{label} {'f64' if floats else 'i64'} {shape} : " + " ".join(words))


def short(x):
    return torch.round(x * 1024) / 1024


def case(name, function, more=(), **inputs):
    LINES.append(f"case {name}")
    leaves = {}
    for label, value in inputs.items():
        line(label, value)
        leaves[label] = value.clone().requires_grad_() if value.is_floating_point() else value
    output = function(**leaves)
    upstream = short(torch.rand(output.shape, dtype=torch.float64) + 0.5)
    output.backward(upstream)
    line("output", output)
    line("upstream", upstream)
    for label, leaf in leaves.items():
        if leaf.is_floating_point():
            gradient = leaf.grad if leaf.grad is not None else torch.zeros_like(leaf)
            line("grad_" + label, gradient)
    for label, value in more:
        line(label, value)


def normal(*shape):
    return short(torch.randn(*shape, dtype=torch.float64))


def uniform(low, high, *shape):
    return short(torch.rand(*shape, dtype=torch.float64) * (high - low) + low)


def signs(*shape):
    return torch.randint(0, 2, shape) * 2 - 1


def norms():
    x, weight, bias = normal(3, 4, 2, 5) * 2 + 7, normal(4), normal(4)
    mean, variance = normal(4), uniform(0.5, 2, 4)
    case("batch_norm", lambda x, mean, variance, weight, bias: (x - mean.view(4, 1, 1)) /
         torch.sqrt(variance.view(4, 1, 1) + 1e-3) * weight.view(4, 1, 1) + bias.view(4, 1, 1),
         x=x, mean=mean, variance=variance, weight=weight, bias=bias)
    case("batch_norm_train", lambda x, weight, bias: F.batch_norm(
        x, None, None, weight, bias, True, 0.1, 1e-5), x=x, weight=weight, bias=bias,
        more=[("mean", x.mean((0, 2, 3))), ("variance", x.var((0, 2, 3), unbiased=False))])
    case("group_norm", lambda x, weight, bias: F.group_norm(x, 2, weight, bias, 1e-5),
         x=x, weight=weight, bias=bias)
    case("instance_norm", lambda x, weight, bias: F.instance_norm(
        x, None, None, weight, bias, True, 0.1, 1e-5), x=x, weight=weight, bias=bias)
    for size in (1, 2, 3, 4, 5):
        case(f"local_response_norm_{size}", lambda x: F.local_response_norm(
            x, size, 0.3, 0.75, 1.5), x=normal(2, 4, 3, 2))


def element_losses():
    shape = (3, 4)
    x, t = normal(*shape), normal(*shape)
    p, q = uniform(0.05, 0.95, *shape), uniform(0, 1, *shape)
    weight, none = uniform(0.5, 2, 4), {"reduction": "none"}
    case("binary_cross_entropy", lambda x: F.binary_cross_entropy(x, q, weight, **none), x=p,
         more=[("targets", q), ("weight", weight)])
    logits = x * 30
    case("binary_cross_entropy_with_logits", lambda x: F.binary_cross_entropy_with_logits(
        x, q, weight, **none), x=logits, more=[("targets", q), ("weight", weight)])
    case("l1", lambda x, targets: F.l1_loss(x, targets, **none), x=x, targets=t)
    case("mse", lambda x, targets: F.mse_loss(x, targets, **none), x=x, targets=t)
    case("lp", lambda x, targets: (x - targets).abs().pow(2.5), x=x, targets=t)
    case("huber", lambda x, targets: F.huber_loss(x, targets, delta=0.7, **none), x=x, targets=t)
    case("smooth_l1", lambda x, targets: F.smooth_l1_loss(x, targets, beta=0.7, **none), x=x,
         targets=t)
    logs = short(torch.log_softmax(x, 1))
    case("kl_div", lambda x, targets: F.kl_div(x, targets, **none), x=logs,
         targets=short(torch.softmax(t, 1)))
    case("kl_div_batch_mean", lambda x, targets: F.kl_div(x, targets, reduction="batchmean"),
         x=logs, targets=short(torch.softmax(t, 1)))
    case("kl_div_log_target", lambda x, targets: F.kl_div(x, targets, log_target=True, **none),
         x=logs, targets=short(torch.log_softmax(t, 1)))
    variance = uniform(0.1, 2, *shape)
    for full in (False, True):
        case(f"gaussian_nll_{int(full)}", lambda x, targets, variance: F.gaussian_nll_loss(
            x, targets, variance, full=full, **none), x=x, targets=t, variance=variance)
    counts = torch.randint(0, 6, shape).double()
    for log_input, full in itertools.product((False, True), repeat=2):
        case(f"poisson_nll_{int(log_input)}{int(full)}", lambda x: F.poisson_nll_loss(
            x, counts, log_input=log_input, full=full, **none), x=x if log_input else p * 4,
            more=[("targets", counts)])
    case("hinge_embedding", lambda x, targets: F.hinge_embedding_loss(
        x, targets, margin=0.8, **none), x=x, targets=signs(*shape))
    case("soft_margin", lambda x, targets: F.soft_margin_loss(x, targets.double(), **none),
         x=x * 20, targets=signs(*shape))
    case("margin_ranking", lambda a, b, targets: F.margin_ranking_loss(
        a, b, targets, margin=0.3, **none), a=x, b=t, targets=signs(*shape))


def row_losses():
    a, b, c = normal(5, 6), normal(5, 6), normal(5, 6)
    none = {"reduction": "none"}
    case("cosine_embedding", lambda a, b, targets: F.cosine_embedding_loss(
        a, b, targets, margin=-0.4, **none), a=a, b=b, targets=signs(5))
    for p in (1, 2):
        weight = uniform(0.5, 2, 6)
        case(f"multi_margin_{p}", lambda x, targets: F.multi_margin_loss(
            x, targets, p, 0.8, weight, **none), x=a, targets=torch.randint(0, 6, (5,)),
            more=[("weight", weight)])
    for swap in (False, True):
        case(f"triplet_margin_{int(swap)}", lambda a, b, c: F.triplet_margin_loss(
            a, b, c, margin=1.3, p=3, swap=swap, **none), a=a, b=b, c=c)
    targets, logits = torch.tensor([0, 3, 1, 3, 2]), normal(5, 4)
    weight = uniform(0.5, 2, 4)
    case("cross_entropy_weighted", lambda x: F.cross_entropy(x, targets, weight), x=logits,
         more=[("targets", targets), ("weight", weight)])
    case("cross_entropy_smoothed", lambda x: F.cross_entropy(x, targets, label_smoothing=0.2),
         x=logits, more=[("targets", targets)])


def ctc():
    time, batch, classes = 21, 4, 5
    targets = torch.tensor([[1, 2, 2, 3, 4, 1], [1, 1, 1, 0, 0, 0], [4, 0, 0, 0, 0, 0],
                            [0, 0, 0, 0, 0, 0]])
    lengths, steps = torch.tensor([6, 3, 1, 0]), torch.tensor([21, 12, 20, 5])
    for reduction in ("none", "mean", "sum"):
        case(f"ctc_{reduction}", lambda x: F.ctc_loss(
            x.log_softmax(2), targets, steps, lengths, 0, reduction), x=normal(time, batch, classes),
            more=[("targets", targets), ("input_lengths", steps), ("target_lengths", lengths)])
    moved = torch.where(targets == 2, 0, targets)
    case("ctc_other_blank", lambda x: F.ctc_loss(
        x.log_softmax(2), moved, steps, lengths, 2, "none"), x=normal(time, batch, classes) * 3,
        more=[("targets", moved), ("input_lengths", steps), ("target_lengths", lengths)])


def transducer(log_probs, targets, steps, lengths, blank):
    """-log of the sum over all orders of blanks and labels, the last of which is a blank."""
    losses = []
    for n in range(log_probs.shape[0]):
        time, labels = int(steps[n]), int(lengths[n])
        paths = []
        for places in itertools.combinations(range(time - 1 + labels), labels):
            t, u, logs = 0, 0, []
            for step in range(time - 1 + labels):
                if step in places:
                    logs.append(log_probs[n, t, u, targets[n, u]])
                    u += 1
                else:
                    logs.append(log_probs[n, t, u, blank])
                    t += 1
            logs.append(log_probs[n, t, u, blank])
            paths.append(torch.stack(logs).sum())
        losses.append(-torch.logsumexp(torch.stack(paths), 0))
    return torch.stack(losses)


def rnnt():
    targets = torch.tensor([[1, 2, 3], [2, 2, 0], [1, 0, 0], [0, 0, 0]])
    lengths, steps = torch.tensor([3, 2, 1, 0]), torch.tensor([5, 3, 1, 4])
    case("rnnt", lambda x: transducer(x.log_softmax(3), targets, steps, lengths, 0),
         x=normal(4, 5, 4, 4), more=[("targets", targets), ("input_lengths", steps),
                                     ("target_lengths", lengths)])


def deform(x, offset, weight, mask, bias, stride, padding, dilation, groups, offset_groups):
    (batch, channels, height, width), (out, _, rows, cols) = x.shape, weight.shape
    high, wide = offset.shape[2:]
    moved = offset.view(batch, offset_groups, rows, cols, 2, high, wide)
    scale = mask.view(batch, offset_groups, rows, cols, high, wide)
    planes = x.view(batch, offset_groups, channels // offset_groups, height, width)
    columns = []
    for g in range(offset_groups):
        for i, j in itertools.product(range(rows), range(cols)):
            y = (torch.arange(high).double() * stride[0] - padding[0] + i * dilation[0]).view(-1, 1)
            z = torch.arange(wide).double() * stride[1] - padding[1] + j * dilation[1]
            at_y = (y + moved[:, g, i, j, 0]) * 2 / (height - 1) - 1
            at_x = (z + moved[:, g, i, j, 1]) * 2 / (width - 1) - 1
            read = F.grid_sample(planes[:, g], torch.stack([at_x, at_y], -1), align_corners=True)
            columns.append(read * scale[:, g, i, j].unsqueeze(1))
    taken = torch.stack(columns).view(offset_groups, rows * cols, batch, channels // offset_groups,
                                      high * wide).permute(2, 0, 3, 1, 4)
    taken = taken.reshape(batch, groups, -1, high * wide)
    kernels = weight.view(groups, out // groups, -1)
    return (kernels @ taken).view(batch, out, high, wide) + bias.view(-1, 1, 1)


def deform_conv():
    for name, groups, offset_groups, stride, padding, dilation in (
            ("plain", 1, 1, (1, 1), (0, 0), (1, 1)), ("groups", 2, 2, (2, 1), (1, 2), (1, 2)),
            ("other_groups", 1, 4, (1, 2), (2, 0), (2, 1))):
        height, width, rows, cols = 6, 7, 3, 2
        high = (height + 2 * padding[0] - dilation[0] * (rows - 1) - 1) // stride[0] + 1
        wide = (width + 2 * padding[1] - dilation[1] * (cols - 1) - 1) // stride[1] + 1
        reads = offset_groups * rows * cols
        case(f"deform_conv2d_{name}",
             lambda x, offset, weight, mask, bias: deform(
                 x, offset, weight, mask, bias, stride, padding, dilation, groups, offset_groups),
             x=normal(2, 4, height, width), offset=normal(2, 2 * reads, high, wide) * 1.5,
             weight=normal(6, 4 // groups, rows, cols), mask=uniform(0, 1, 2, reads, high, wide),
             bias=normal(6))


def main():
    torch.manual_seed(7)
    for make in (norms, element_losses, row_losses, ctc, rnnt, deform_conv):
        make()
    FILE.write_text("\n".join(LINES) + "\n")
    print(f"{FILE.name}: {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
