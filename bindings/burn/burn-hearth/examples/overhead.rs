use burn_backend::ops::FloatTensorOps;
use burn_backend::*;
use burn_hearth::*;
use std::time::Instant;
fn main() {
    let d = HearthDevice::default();
    for n in [1usize, 100] {
        let x = Hearth::float_ones(Shape::new([n, n]), &d, FloatDType::F32);
        for round in 0..3 {
            let t = Instant::now();
            let mut y = x.clone();
            for _ in 0..10000 {
                y = Hearth::float_add(y, x.clone());
            }
            let t1 = t.elapsed();
            let s = read_sync(Hearth::float_into_data(y)).unwrap();
            println!(
                "n {n} round {round}: record {:?}/op, all {:?}/op {}",
                t1 / 10000,
                t.elapsed() / 10000,
                s.iter::<f32>().next().unwrap()
            );
        }
        let t = Instant::now();
        for _ in 0..1000 {
            read_sync(Hearth::float_into_data(x.clone())).unwrap();
        }
        println!("read ready {:?}", t.elapsed() / 1000);
        let t = Instant::now();
        for _ in 0..1000 {
            read_sync(Hearth::float_into_data(Hearth::float_add(
                x.clone(),
                x.clone(),
            )))
            .unwrap();
        }
        println!("add + read {:?}", t.elapsed() / 1000);
        let t = Instant::now();
        for _ in 0..1000 {
            HearthDevice::default();
        }
        println!("default {:?}", t.elapsed() / 1000);
    }
}
