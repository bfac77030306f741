//! The block with either's products.

use candle_core::{DType, Device, Result, Tensor, Var};
use tilewright::Backend;
use tilewright_candle::{Block, Candle, Config, Products, Tilewright, difference};

const CONFIG: Config = Config {
    tokens: 10,
    width: 24,
    heads: 3,
    hidden: 40,
};

/// The types, and what their roundings may make of an output.
const TYPES: [(DType, f64); 4] = [
    (DType::F64, 1e-13),
    (DType::F32, 1e-5),
    (DType::F16, 5e-3),
    (DType::BF16, 4e-2),
];

#[test]
fn outputs_agree() -> Result<()> {
    for (dtype, tolerance) in TYPES {
        let block = Block::random(CONFIG, 1, dtype, &Device::Cpu)?;
        let x = block.random_input(5)?;
        let output = block.forward(&Tilewright::new(Backend::Cpu), &x)?;
        assert_eq!((output.dims(), output.dtype()), (x.dims(), dtype));
        let difference = difference(&output, &block.forward(&Candle, &x)?)?;
        assert!(difference <= tolerance, "{dtype:?}: {difference:e}");
    }
    Ok(())
}

/// What a loss says of the input and of each weight.
fn gradients(products: &dyn Products, block: &Block, x: &Var) -> Result<Vec<(&'static str, Tensor)>> {
    let loss = block.forward(products, x)?.sqr()?.sum_all()?;
    let gradients = loss.backward()?;
    let variables = [("x", x)].into_iter().chain(block.weights());
    let found = variables.map(|(name, variable)| {
        let gradient = gradients
            .get(variable)
            .unwrap_or_else(|| panic!("{name} has a gradient"));
        (name, gradient.clone())
    });
    Ok(found.collect())
}

#[test]
fn gradients_agree() -> Result<()> {
    for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-4)] {
        let block = Block::random(CONFIG, 1, dtype, &Device::Cpu)?;
        let x = Var::from_tensor(&block.random_input(5)?)?;
        let tilewright = Tilewright::new(Backend::Cpu);
        let ours = gradients(&tilewright, &block, &x)?;
        for ((name, ours), (_, candles)) in ours.iter().zip(gradients(&Candle, &block, &x)?) {
            assert!(
                difference(&candles, &candles.zeros_like()?)?.is_infinite(),
                "{name}: zero"
            );
            let difference = difference(ours, &candles)?;
            assert!(difference <= tolerance, "{dtype:?}, {name}: {difference:e}");
        }
        // The backward pass has two products for each of the forward pass.
        assert_eq!(tilewright.take_computed().len(), 3 * 6);
    }
    Ok(())
}

#[test]
fn nothing_else_multiplies() -> Result<()> {
    let tilewright = Tilewright::new(Backend::Cpu);
    let block = Block::random(CONFIG, 1, DType::F32, &Device::Cpu)?;
    block.forward(&tilewright, &block.random_input(5)?)?;
    let computed = tilewright.take_computed();
    let found: Vec<_> = computed
        .iter()
        .map(|product| (product.name, product.batch, product.shape.to_string()))
        .collect();
    let expected = [
        ("qkv", 1, "10 x 72 x 24"),
        ("scores", 3, "10 x 10 x 8"),
        ("values", 3, "10 x 8 x 10"),
        ("attended", 1, "10 x 24 x 24"),
        ("up", 1, "10 x 40 x 24"),
        ("down", 1, "10 x 24 x 40"),
    ];
    assert_eq!(
        found,
        expected.map(|(name, batch, shape)| (name, batch, shape.to_owned()))
    );

    // Of candle's ways to multiply matrices the block has none.
    let (_, block) = include_str!("../src/block.rs")
        .split_once("impl Block")
        .expect("it is there");
    assert_eq!(block.matches("products.product(").count(), expected.len());
    for other in ["matmul", ".dot(", ".mv(", "conv", "Candle"] {
        assert!(!block.contains(other), "{other}");
    }
    Ok(())
}

#[test]
fn a_block_whose_heads_do_not_divide_its_width_is_candles_error() -> Result<()> {
    for heads in [0, 5] {
        let block = Block::random(Config { heads, ..CONFIG }, 1, DType::F32, &Device::Cpu)?;
        let x = block.random_input(5)?;
        assert!(
            block.forward(&Tilewright::new(Backend::Cpu), &x).is_err(),
            "{heads} heads"
        );
    }
    Ok(())
}
