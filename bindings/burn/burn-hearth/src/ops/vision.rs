//! Images by burn-vision's traits: `[height, width, channels]` for morphology, `[height, width]` for
//! components.

use std::ffi::CStr;

use burn_backend::ops::{FloatTensorOps, IntTensorOps, QTensorOps};
use burn_backend::{FloatDType, IntDType, QTensorPrimitive, Shape, Slice, TensorMetadata};
use burn_tensor::{Bool, Float, Int, TensorKind};
use burn_vision::{
    BoolVisionOps, BorderType, ConnectedStatsOptions, ConnectedStatsPrimitive, Connectivity,
    FloatVisionOps, IntVisionOps, MorphOptions, NmsOptions, QVisionOps, VisionBackend,
};

use super::values;
use crate::backend::Hearth;
use crate::call::{Argument, Function, apply, parameter};
use crate::dtypes::Dtype;
use crate::quantized::HearthQuantizedTensor;
use crate::tensor::HearthTensor;

/// erode or dilate of a function that has the same parameters.
struct Morphology<'a> {
    function: &'a Function,
    kernel: &'a HearthTensor,
    /// Row and column.
    anchor: Option<[usize; 2]>,
    border: &'static CStr,
    iterations: usize,
}

impl<'a> Morphology<'a> {
    fn new<K: TensorKind<Hearth>>(
        function: &'a Function,
        kernel: &'a HearthTensor,
        options: &MorphOptions<Hearth, K>,
    ) -> Self {
        let border = match options.border_type {
            BorderType::Constant => c"constant",
            BorderType::Replicate => c"replicate",
            BorderType::Reflect => c"reflect",
            BorderType::Reflect101 => c"reflect101",
            BorderType::Wrap => c"wrap",
        };
        let anchor = options.anchor.as_ref().map(|anchor| [anchor.y, anchor.x]);
        let iterations = options.iterations.max(1); // none is one, as burn-vision has it
        Self {
            function,
            kernel,
            anchor,
            border,
            iterations,
        }
    }

    /// `values`, one a channel, lie around the image where the border is constant.
    fn of(&self, image: HearthTensor, values: Option<HearthTensor>) -> HearthTensor {
        let channels_first = call!(permute(image), axes = [2usize, 0, 1]);
        let result = match values {
            Some(values) if self.border == c"constant" => {
                (0..self.iterations).fold(channels_first, |x, _| self.surrounded(x, &values))
            }
            _ => self.apply(channels_first, self.iterations),
        };
        call!(permute(result), axes = [1usize, 2, 0])
    }

    fn apply(&self, x: HearthTensor, iterations: usize) -> HearthTensor {
        let [result] = apply(
            self.function,
            &[x.value(), self.kernel.value()],
            &[
                parameter(c"anchor", &self.anchor),
                parameter(c"iterations", &iterations),
                parameter(c"border", self.border),
            ],
        );
        result
    }

    /// One iteration, of an image with a margin as wide as the kernel reaches.
    fn surrounded(&self, x: HearthTensor, values: &HearthTensor) -> HearthTensor {
        let &[rows, cols] = self.kernel.extents() else {
            panic!("a kernel has two axes, not {:?}", self.kernel.extents());
        };
        let &[channels, height, width] = x.extents() else {
            unreachable!("an image has three axes");
        };
        // Tensors of all kinds are one type here, and so are the methods that move elements.
        let values = Hearth::float_reshape(values.clone(), Shape::from([channels, 1, 1]));
        let whole = [channels, height + 2 * rows, width + 2 * cols];
        let margin = Hearth::float_expand(values, Shape::from(whole));
        let inside = [0..channels, rows..rows + height, cols..cols + width].map(Slice::from);
        let surrounded = Hearth::float_slice_assign(margin, &inside, x);
        Hearth::float_slice(self.apply(surrounded, 1), &inside)
    }
}

macro_rules! morphology {
    ($kind:ty: $($method:ident = $function:ident),* ; |$values:ident| $primitive:expr) => {
        $(fn $method(
            input: HearthTensor,
            kernel: HearthTensor,
            options: MorphOptions<Hearth, $kind>,
        ) -> HearthTensor {
            let morphology = Morphology::new(function!($function), &kernel, &options);
            morphology.of(input, options.border_value.map(|$values| $primitive))
        })*
    };
}

impl FloatVisionOps for Hearth {
    morphology! {
        Float: float_erode = erode, float_dilate = dilate;
        |values| values.into_primitive().tensor()
    }

    fn nms(boxes: HearthTensor, scores: HearthTensor, options: NmsOptions) -> HearthTensor {
        let most = (options.max_output_boxes > 0).then_some(options.max_output_boxes);
        let kept = call!(
            nms(boxes, scores),
            iou_threshold = f64::from(options.iou_threshold),
            score_threshold = f64::from(options.score_threshold),
            max_boxes = most
        );
        values::cast(kept, IntDType::I32)
    }
}

impl IntVisionOps for Hearth {
    morphology! {
        Int: int_erode = erode, int_dilate = dilate; |values| values.into_primitive()
    }
}

fn connectivity(connectivity: Connectivity) -> &'static CStr {
    match connectivity {
        Connectivity::Four => c"four",
        Connectivity::Eight => c"eight",
    }
}

impl BoolVisionOps for Hearth {
    morphology! {
        Bool: bool_erode = erode, bool_dilate = dilate; |values| values.into_primitive()
    }

    fn connected_components(image: HearthTensor, neighbours: Connectivity) -> HearthTensor {
        call!(
            connected_components(image),
            connectivity = connectivity(neighbours),
            dtype = Dtype::from(IntDType::I32)
        )
    }

    /// What is false has none. Statistics that are not asked for are the labels, as burn-vision has
    /// it; that labels count from 1 without a gap, and the largest, are there whether or not asked
    /// for.
    fn connected_components_with_stats(
        image: HearthTensor,
        neighbours: Connectivity,
        options: ConnectedStatsOptions,
    ) -> (HearthTensor, ConnectedStatsPrimitive<Hearth>) {
        let [labels, statistics, max_label] = call_all!(
            connected_components_with_stats(image),
            connectivity = connectivity(neighbours),
            dtype = Dtype::from(IntDType::I32)
        );
        let &[count, columns] = statistics.extents() else {
            unreachable!("a row of statistics for each label");
        };
        let none = Hearth::int_zeros(Shape::from([1, columns]), &image.device(), IntDType::I32);
        let statistics = Hearth::int_slice_assign(statistics, &[Slice::from(0..1)], none);
        let column = |column: usize, wanted: bool| {
            if !wanted {
                let all = Shape::from([labels.shape().num_elements()]);
                return Hearth::int_reshape(labels.clone(), all);
            }
            let slices = [Slice::from(0..count), Slice::from(column..column + 1)];
            let column = Hearth::int_slice(statistics.clone(), &slices);
            Hearth::int_reshape(column, Shape::from([count]))
        };
        let bounds = options.bounds_enabled;
        let primitive = ConnectedStatsPrimitive {
            area: column(0, options != ConnectedStatsOptions::none()),
            top: column(1, bounds),
            left: column(2, bounds),
            bottom: column(3, bounds),
            right: column(4, bounds),
            max_label: Hearth::int_reshape(max_label, Shape::from([1])),
        };
        (labels, primitive)
    }
}

macro_rules! quantized {
    ($($method:ident, $float:ident;)*) => {
        $(fn $method(
            input: HearthQuantizedTensor,
            kernel: HearthTensor,
            options: MorphOptions<Hearth, Float>,
        ) -> HearthQuantizedTensor {
            let scheme = *input.scheme();
            let floats = Hearth::dequantize(input, FloatDType::F32);
            Hearth::quantize_dynamic(Hearth::$float(floats, kernel, options), &scheme)
        })*
    };
}

impl QVisionOps for Hearth {
    quantized! {
        q_erode, float_erode;
        q_dilate, float_dilate;
    }
}

impl VisionBackend for Hearth {}
