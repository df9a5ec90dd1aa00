"""The functions of `hearth bench --rows families/` in PyTorch, on the processor or a GPU.

A row is named [gpu/]families/<family>/<function>_<dtype>_<size>; src/tools/bench/functions says
what each is. bench/peers.py measures it on the processor, bench/torch_rows.py on a GPU.
"""

import sys

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
CLASSES = 1000


class Inputs:
    """Arguments of a row's dtype and size, as BenchInputs of Hearth makes them."""

    def __init__(self, device, dtype, size):
        self.device, self.dtype = device, DTYPES[dtype]
        is_gpu, is_large = device != "cpu", size == "large"
        if is_gpu:
            side = 8192 if is_large else 1024
            self.images = (64, 128, 56, 56) if is_large else (16, 64, 56, 56)
            self.heads = (4, 16, 4096 if is_large else 1024, 64)
        else:
            side = 2048 if is_large else 512
            self.images = (16 if is_large else 2, 64, 56, 56)
            self.heads = (4, 16, 1024, 64) if is_large else (1, 8, 256, 64)
        self.matrix, self.lines = (side, side), (side, 1024)
        self.channels = self.images[1]
        self.order = 512 if is_large else 128
        self.signals = (side // 4, 4096)

    def normal(self, *shape):
        return torch.randn(*shape, device=self.device).to(self.dtype)

    def indices(self, shape, extent):
        return torch.randint(0, extent, shape, device=self.device)

    def positive_definite(self):
        x = self.normal(self.order, self.order)
        return x @ x.t() + self.order * torch.eye(self.order, device=self.device)


def unary(shape, function):
    def prepare(inputs):
        x = inputs.normal(*getattr(inputs, shape))
        return lambda: function(x)

    return prepare


def binary(function):
    def prepare(inputs):
        x, y = (inputs.normal(*inputs.matrix) for _ in range(2))
        return lambda: function(x, y)

    return prepare


def indexed(shape, axis, one_a_row, function):
    def prepare(inputs):
        whole = getattr(inputs, shape)
        x = inputs.normal(*whole)
        i = inputs.indices((whole[axis],) if one_a_row else whole, whole[axis])
        return lambda: function(x, i)

    return prepare


def given(make, function):
    """Of the arguments that `make` makes."""

    def prepare(inputs):
        arguments = make(inputs)
        return lambda: function(*arguments)

    return prepare


def gradient(shape, function):
    def prepare(inputs):
        x = inputs.normal(*getattr(inputs, shape)).requires_grad_()
        grad = torch.randn_like(function(x))

        def run():
            with torch.enable_grad():
                return torch.autograd.grad(function(x), x, grad)

        return run

    return prepare


def convolution(kernel, function=F.conv2d, depthwise=False, shape=None, **options):
    def prepare(inputs):
        channels = inputs.channels
        groups = channels if depthwise else 1
        x = inputs.normal(*(shape(inputs) if shape else inputs.images))
        w = inputs.normal(channels, channels // groups, *kernel)
        return lambda: function(x, w, groups=groups, **options)

    return prepare


def attention(causal=False, masked=False):
    def prepare(inputs):
        q, k, v = (inputs.normal(*inputs.heads) for _ in range(3))
        length = inputs.heads[2]
        seen = inputs.normal(length, length) <= 1 if masked else None
        return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=causal)

    return prepare


def loss(function):
    return given(
        lambda i: (i.normal(*i.matrix), torch.sigmoid(i.normal(*i.matrix))),
        lambda x, t: function(x, t),
    )


def flat(inputs):
    return (inputs.normal(1024 * inputs.matrix[0]),)


def numbers(inputs):
    return (inputs.indices((1024 * inputs.matrix[0],), 1000),)


def square(inputs):
    return (inputs.normal(inputs.order, inputs.order),)


def definite(inputs):
    return (inputs.positive_definite(),)


def system(inputs):
    return inputs.positive_definite(), inputs.normal(inputs.order, 8)


def other_dtype(x):
    return x.to(torch.bfloat16 if x.dtype == torch.float32 else torch.float32)


def repeat(x):
    return x.repeat_interleave(2, 1)


def alignment(inputs):
    batch = inputs.matrix[0] // 32
    log_probs = torch.log_softmax(inputs.normal(128, batch, 64), -1)
    lengths = [torch.full((batch,), each, device=inputs.device) for each in (128, 32)]
    return log_probs, inputs.indices((batch, 32), 63) + 1, *lengths


def fake_quantized(x):
    scale = x.abs().amax() * (2 / 254)
    zero = torch.zeros(1, dtype=torch.int32, device=x.device)
    return torch.fake_quantize_per_tensor_affine(x, scale, zero, -127, 127)


# None: PyTorch has none of its own.
FUNCTIONS = {
    "elementwise/exp": unary("matrix", torch.exp),
    "elementwise/tanh": unary("matrix", torch.tanh),
    "elementwise/erf": unary("matrix", torch.erf),
    "elementwise/gelu": unary("matrix", F.gelu),
    "elementwise/clamp": unary("matrix", lambda x: x.clamp(-0.5, 0.5)),
    "elementwise/cast": unary("matrix", other_dtype),
    "elementwise/add": binary(torch.add),
    "elementwise/pow": binary(lambda x, y: torch.pow(x.abs(), y)),
    "elementwise/atan2": binary(torch.atan2),
    "elementwise/greater": binary(torch.gt),
    "elementwise/where": binary(lambda x, y: torch.where(x > 0, x, y)),
    "elementwise/add_row": given(
        lambda i: (i.normal(*i.matrix), i.normal(i.matrix[1])), lambda x, row: x + row
    ),
    "reduce/sum": unary("matrix", lambda x: x.sum()),
    "reduce/sum_axis0": unary("matrix", lambda x: x.sum(0)),
    "reduce/sum_axis1": unary("matrix", lambda x: x.sum(1)),
    "reduce/max_axis1": unary("matrix", lambda x: x.amax(1)),
    "reduce/prod_axis1": unary("matrix", lambda x: x.prod(1)),
    "reduce/argmax_axis0": unary("matrix", lambda x: x.argmax(0)),
    "reduce/argmax_axis1": unary("matrix", lambda x: x.argmax(1)),
    "reduce/var_axis1": unary("matrix", lambda x: x.var(1)),
    "reduce/any_axis1": unary("matrix", lambda x: (x > 9).any(1)),
    "rows/softmax": unary("matrix", lambda x: torch.softmax(x, 1)),
    "rows/softmax_axis0": unary("matrix", lambda x: torch.softmax(x, 0)),
    "rows/log_softmax": unary("matrix", lambda x: torch.log_softmax(x, 1)),
    "rows/rms_norm": unary("matrix", lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5)),
    "rows/layer_norm": unary("matrix", lambda x: F.layer_norm(x, x.shape[-1:])),
    "scan/cumsum_axis0": unary("matrix", lambda x: x.cumsum(0)),
    "scan/cumsum_axis1": unary("matrix", lambda x: x.cumsum(1)),
    "scan/cumprod_axis1": unary("matrix", lambda x: x.cumprod(1)),
    "scan/cummax_axis1": unary("matrix", lambda x: x.cummax(1)),
    "scan/logcumsumexp_axis1": unary("matrix", lambda x: x.logcumsumexp(1)),
    "movement/transpose": unary("matrix", lambda x: x.t().contiguous()),
    "movement/pad": unary("matrix", lambda x: F.pad(x, (3, 5, 1, 2))),
    "movement/pad_reflect": unary("images", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect")),
    "movement/roll": unary("matrix", lambda x: x.roll((5, 7), (0, 1))),
    "movement/flip": unary("matrix", lambda x: x.flip(1)),
    "movement/tril": unary("matrix", torch.tril),
    "movement/repeat_interleave": unary("matrix", repeat),
    "movement/cat_axis0": binary(lambda x, y: torch.cat([x, y], 0)),
    "movement/cat_axis1": binary(lambda x, y: torch.cat([x, y], 1)),
    "movement/permute": unary("heads", lambda x: x.permute(0, 2, 1, 3).contiguous()),
    "random/dropout": unary("matrix", lambda x: F.dropout(x, 0.1)),
    "random/normal": unary("matrix", torch.randn_like),
    "random/uniform": unary("matrix", torch.rand_like),
    "sort/sort_axis1": unary("lines", lambda x: x.sort(1)),
    "sort/sort_axis0": unary("lines", lambda x: x.sort(0)),
    "sort/argsort_axis1": unary("lines", lambda x: x.argsort(dim=1, stable=True)),
    "sort/sort_flat": unary("lines", lambda x: x.flatten().sort()),
    "sort/topk10_axis1": unary("lines", lambda x: x.topk(10, 1)),
    "sort/median_axis1": unary("lines", lambda x: x.median(1)),
    "indexing/select_axis0": indexed("matrix", 0, True, lambda x, i: x.index_select(0, i)),
    "indexing/select_axis1": indexed("matrix", 1, True, lambda x, i: x.index_select(1, i)),
    "indexing/select_add_axis0": indexed("matrix", 0, True, lambda x, i: x.index_add(0, i, x)),
    "indexing/gather_axis0": indexed("lines", 0, False, lambda x, i: x.gather(0, i)),
    "indexing/gather_axis1": indexed("lines", 1, False, lambda x, i: x.gather(1, i)),
    "indexing/scatter_add_axis0": indexed(
        "lines", 0, False, lambda x, i: x.scatter_add(0, i, x)
    ),
    "indexing/scatter_add_axis1": indexed(
        "lines", 1, False, lambda x, i: x.scatter_add(1, i, x)
    ),
    "indexing/mask_select": unary("lines", lambda x: x.masked_select(x > 0.5)),
    "indexing/nonzero": unary("lines", lambda x: torch.nonzero(x > 1, as_tuple=True)),
    "indexing/argwhere": unary("lines", lambda x: torch.argwhere(x > 1)),
    "product/matmul": binary(torch.matmul),
    "product/linear_bias": given(
        lambda i: (i.normal(*i.lines), i.normal(1024, 1024), i.normal(1024)), F.linear
    ),
    "product/einsum": given(
        lambda i: (i.normal(*i.heads), i.normal(*i.heads)),
        lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k),
    ),
    "product/cdist": given(lambda i: (i.normal(1024, 1024), i.normal(i.order, 1024)), torch.cdist),
    "conv/3x3": convolution((3, 3), padding=1),
    "conv/3x3_stride2": convolution((3, 3), padding=1, stride=2),
    "conv/1x1": convolution((1, 1)),
    "conv/depthwise": convolution((3, 3), depthwise=True, padding=1),
    "conv/transpose_4x4_stride2": convolution((4, 4), F.conv_transpose2d, stride=2, padding=1),
    "conv/1d_3": convolution(
        (3,), F.conv1d, shape=lambda i: (i.images[0], i.channels, 56 * 56), padding=1
    ),
    "conv/deform_3x3": None,
    "pool/max_3x3_stride2": unary("images", lambda x: F.max_pool2d(x, 3, 2, 1)),
    "pool/avg_2x2": unary("images", lambda x: F.avg_pool2d(x, 2)),
    "pool/adaptive_7x7": unary("images", lambda x: F.adaptive_avg_pool2d(x, 7)),
    "image/nearest_2x": unary("images", lambda x: F.interpolate(x, (112, 112))),
    "image/bilinear_2x": unary("images", lambda x: F.interpolate(x, (112, 112), mode="bilinear")),
    "image/bicubic_2x": unary("images", lambda x: F.interpolate(x, (112, 112), mode="bicubic")),
    "image/unfold_3x3": unary("images", lambda x: F.unfold(x, 3, padding=1)),
    "image/grid_sample": given(
        lambda i: (i.normal(*i.images), torch.tanh(i.normal(i.images[0], 56, 56, 2))),
        lambda x, points: F.grid_sample(x, points, align_corners=False),
    ),
    "vision/nms": None,
    "vision/connected_components": None,
    "norm/batch": unary("images", lambda x: F.batch_norm(x, None, None, training=True)),
    "norm/group_8": unary("images", lambda x: F.group_norm(x, 8)),
    "norm/instance": unary("images", F.instance_norm),
    "attention/full": attention(),
    "attention/causal": attention(causal=True),
    "attention/masked": attention(masked=True),
    "loss/cross_entropy": given(
        lambda i: (i.normal(i.matrix[0], CLASSES), i.indices((i.matrix[0],), CLASSES)),
        F.cross_entropy,
    ),
    "loss/mse": loss(F.mse_loss),
    "loss/binary_cross_entropy_with_logits": loss(F.binary_cross_entropy_with_logits),
    "loss/ctc": given(alignment, lambda *args: F.ctc_loss(*args, reduction="none")),
    "loss/kl_div": loss(F.kl_div),
    "gradient/gelu": gradient("matrix", F.gelu),
    "gradient/softmax": gradient("matrix", lambda x: torch.softmax(x, 1)),
    "gradient/layer_norm": gradient("matrix", lambda x: F.layer_norm(x, x.shape[-1:])),
    "gradient/cumsum": gradient("matrix", lambda x: x.cumsum(1)),
    "gradient/matmul": gradient("matrix", lambda x: x @ x),
    "gradient/max_pool_3x3_stride2": gradient("images", lambda x: F.max_pool2d(x, 3, 2, 1)),
    "gradient/avg_pool_2x2": gradient("images", lambda x: F.avg_pool2d(x, 2)),
    "gradient/bilinear_2x": gradient(
        "images", lambda x: F.interpolate(x, (112, 112), mode="bilinear")
    ),
    "gradient/batch_norm": gradient("images", lambda x: F.batch_norm(x, None, None, training=True)),
    "gradient/group_norm_8": gradient("images", lambda x: F.group_norm(x, 8)),
    "gradient/attention_causal": gradient(
        "heads", lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)
    ),
    "linalg/cholesky": given(definite, torch.linalg.cholesky),
    "linalg/eigvalsh": given(definite, torch.linalg.eigvalsh),
    "linalg/qr": given(square, torch.linalg.qr),
    "linalg/svdvals": given(square, torch.linalg.svdvals),
    "linalg/inverse": given(square, torch.linalg.inv),
    "linalg/det": given(square, torch.linalg.det),
    "linalg/solve": given(system, torch.linalg.solve),
    "linalg/triangular_solve": given(
        system, lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)
    ),
    "signal/rfft": unary("signals", torch.fft.rfft),
    "signal/irfft": given(
        lambda i: (torch.complex(x := i.normal(i.signals[0], 2049), x),), torch.fft.irfft
    ),
    "signal/fft": given(lambda i: (torch.complex(x := i.normal(*i.signals), x),), torch.fft.fft),
    "signal/rfft_prime": given(lambda i: (i.normal(i.signals[0], 4093),), torch.fft.rfft),
    "signal/stft_512": unary(
        "signals", lambda x: torch.stft(x, 512, 128, window=None, return_complex=True)
    ),
    "statistics/unique": given(numbers, torch.unique),
    "statistics/bincount": given(numbers, torch.bincount),
    "statistics/histogram": given(flat, lambda x: torch.histc(x, 100, -4, 4)),
    "statistics/quantile": given(
        lambda i: (i.normal(*i.lines), torch.tensor([0.1, 0.5], device=i.device)),
        lambda x, q: torch.quantile(x, q, 1),
    ),
    "quantization/quantize_q8": unary(
        "matrix", lambda x: torch.quantize_per_tensor(x, 0.03, 0, torch.qint8)
    ),
    "quantization/dequantize_q8": given(
        lambda i: (torch.quantize_per_tensor(i.normal(*i.matrix), 0.03, 0, torch.qint8),),
        torch.dequantize,
    ),
    "quantization/fake_quantize_q8": unary("matrix", fake_quantized),
    "quantization/matmul_q4_blocks": None,
    "statistics/searchsorted": given(
        lambda i: (i.normal(1024).sort().values, i.normal(*i.lines)), torch.searchsorted
    ),
}


def calls_of(rows, device):
    """Those of `rows` that PyTorch can do, each with its call, arguments made."""
    for row in rows:
        family, rest = row.removeprefix("gpu/").removeprefix("families/").split("/")
        name, dtype, size = rest.rsplit("_", 2)
        prepare = FUNCTIONS[f"{family}/{name}"]
        if prepare is None:
            continue
        try:
            call = prepare(Inputs(device, dtype, size))
            call()
        except NotImplementedError as error:  # for the dtype, or the layout
            print(f"{row}: not in PyTorch: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        yield row, call
