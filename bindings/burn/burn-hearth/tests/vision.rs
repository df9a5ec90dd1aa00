//! burn-vision's operations (feature `vision`), beside loops over the definition.
#![cfg(feature = "vision")]

use burn_hearth::{Hearth, HearthDevice};
use burn_tensor::{Bool, Int, Tensor, TensorData};
use burn_vision::{
    BorderType, ConnectedComponents, ConnectedStatsOptions, Connectivity, MorphOptions, Morphology,
    Nms, NmsOptions, Point,
};

const CPU: HearthDevice = HearthDevice::Cpu;
const SIZE: [usize; 3] = [5, 7, 2];

fn image() -> Vec<f32> {
    let values = 0..SIZE.iter().product();
    values
        .map(|i: usize| (i * 37 % 101) as f32 - 50.0)
        .collect()
}

/// The least under a kernel, where a constant border has a value for each channel.
fn eroded(image: &[f32], kernel: [[bool; 3]; 2], anchor: Point, border: [f32; 2]) -> Vec<f32> {
    let [height, width, channels] = SIZE.map(|extent| extent as isize);
    let mut result = Vec::new();
    for (y, x, c) in (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| (0..channels).map(move |c| (y, x, c))))
    {
        let mut least = f32::INFINITY;
        for (i, row) in kernel.iter().enumerate() {
            for (j, covered) in row.iter().enumerate() {
                let (v, u) = (
                    y + i as isize - anchor.y as isize,
                    x + j as isize - anchor.x as isize,
                );
                let inside = (0..height).contains(&v) && (0..width).contains(&u);
                if *covered {
                    least = least.min(match inside {
                        true => image[((v * width + u) * channels + c) as usize],
                        false => border[c as usize],
                    });
                }
            }
        }
        result.push(least);
    }
    result
}

#[test]
fn a_constant_border_has_a_value_for_each_channel() {
    let kernel = [[true, false, true], [true, true, false]];
    let border = [-7.0, 20.0];
    for anchor in [Point::new(0, 0), Point::new(2, 1), Point::new(1, 0)] {
        let options = MorphOptions {
            anchor: Some(anchor),
            iterations: 2,
            border_type: BorderType::Constant,
            border_value: Some(Tensor::from_floats(border, &CPU)),
        };
        let x = Tensor::<Hearth, 3>::from_data(TensorData::new(image(), SIZE), &CPU);
        let result = x.erode(Tensor::<Hearth, 2, Bool>::from_data(kernel, &CPU), options);
        let once = eroded(&image(), kernel, anchor, border);
        let twice = eroded(&once, kernel, anchor, border);
        result
            .into_data()
            .assert_eq(&TensorData::new(twice, SIZE), true);
    }
}

#[test]
fn dilation_of_whole_numbers_without_a_border() {
    let values = image()
        .iter()
        .map(|&value| value as i32)
        .collect::<Vec<_>>();
    let x = Tensor::<Hearth, 3, Int>::from_data(TensorData::new(values, SIZE), &CPU);
    let kernel = [[true, false, true], [true, true, false]];
    let kernel = Tensor::<Hearth, 2, Bool>::from_data(kernel, &CPU);
    // The largest is the least of what is turned around in sign.
    let negative = image().iter().map(|value| -value).collect::<Vec<_>>();
    let expected = eroded(
        &negative,
        [[true, false, true], [true, true, false]],
        Point::new(1, 1),
        [f32::INFINITY; 2],
    );
    let expected = expected
        .iter()
        .map(|&value| -value as i32)
        .collect::<Vec<_>>();
    let result = x.dilate(kernel, MorphOptions::default());
    result
        .into_data()
        .assert_eq(&TensorData::new(expected, SIZE), true);
}

#[test]
fn components_are_counted_and_what_is_false_is_none() {
    let image = [[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]].map(|row| row.map(|x| x == 1));
    let image = Tensor::<Hearth, 2, Bool>::from_data(image, &CPU);
    let all = ConnectedStatsOptions::all();
    let (labels, stats) = image
        .clone()
        .connected_components_with_stats(Connectivity::Eight, all);
    let expected = TensorData::from([[1, 1, 0, 0], [0, 0, 1, 0], [2, 0, 0, 1]]);
    labels.into_data().assert_eq(&expected, true);
    let columns = [
        (stats.area, [0, 4, 1]),
        (stats.left, [0, 0, 0]),
        (stats.top, [0, 0, 2]),
        (stats.right, [0, 3, 0]),
        (stats.bottom, [0, 2, 2]),
    ];
    for (column, expected) in columns {
        column
            .into_data()
            .assert_eq(&TensorData::from(expected), true);
    }
    stats
        .max_label
        .into_data()
        .assert_eq(&TensorData::from([2]), true);
    let apart = image.connected_components(Connectivity::Four);
    assert_eq!(apart.max().into_scalar(), 4);
}

#[test]
fn statistics_that_nobody_asked_for_are_the_labels() {
    let image = [[true, true, false], [false, false, true]];
    let image = Tensor::<Hearth, 2, Bool>::from_data(image, &CPU);
    let labels = TensorData::from([1, 1, 0, 0, 0, 2]);
    let area = TensorData::from([0, 2, 1]);
    let areas = ConnectedStatsOptions {
        max_label_enabled: true,
        ..ConnectedStatsOptions::none()
    };
    for (options, area) in [(areas, &area), (ConnectedStatsOptions::none(), &labels)] {
        let (_, stats) = image
            .clone()
            .connected_components_with_stats(Connectivity::Four, options);
        stats.area.into_data().assert_eq(area, true);
        for bound in [stats.left, stats.top, stats.right, stats.bottom] {
            bound.into_data().assert_eq(&labels, true);
        }
        stats
            .max_label
            .into_data()
            .assert_eq(&TensorData::from([2]), true);
    }
}

#[test]
fn of_boxes_that_overlap_the_best_stays() {
    let boxes = [
        [0.0, 0.0, 10.0, 10.0],
        [1.0, 1.0, 11.0, 11.0],
        [20.0, 20.0, 30.0, 30.0],
        [0.0, 0.0, 10.0, 9.0],
    ];
    let boxes = Tensor::<Hearth, 2>::from_data(boxes, &CPU);
    let scores = Tensor::<Hearth, 1>::from_data([0.5, 0.9, 0.1, 0.8], &CPU);
    let kept = |options| boxes.clone().nms(scores.clone(), options).into_data();
    kept(NmsOptions::default()).assert_eq(&TensorData::from([1, 2]), true);
    let few = NmsOptions {
        iou_threshold: 0.9,
        score_threshold: 0.2,
        max_output_boxes: 2,
    };
    kept(few).assert_eq(&TensorData::from([1, 3]), true);
}
