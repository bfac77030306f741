//! A transformer block: attention of several heads and an MLP, each normalized before and added to what it was given.

use candle_core::{D, DType, Device, Result, Tensor, Var};
use tilewright::random::random_matrix;

/// The products of two tensors, by whoever computes them.
pub trait Products {
    /// `a · b`, of the last two dimensions, for each index of those before. `name` says what it is for.
    ///
    /// # Errors
    /// candle's, for shapes that do not go together.
    fn product(&self, name: &'static str, a: &Tensor, b: &Tensor) -> Result<Tensor>;
}

/// candle's own products.
#[derive(Clone, Copy, Debug)]
pub struct Candle;

impl Products for Candle {
    /// Copies operands that are not contiguous: on a GPU candle multiplies no others.
    fn product(&self, _: &'static str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.contiguous()?.matmul(&b.contiguous()?)
    }
}

/// The extents of a block.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Rows of the input.
    pub tokens: usize,
    /// Columns of the input.
    pub width: usize,
    /// Heads of attention; a divisor of the width.
    pub heads: usize,
    /// Columns between the two products of the MLP.
    pub hidden: usize,
}

/// The weights of a block, and no way to multiply by them but [`Products`].
#[derive(Clone, Debug)]
pub struct Block {
    config: Config,
    /// width x 3 width: queries, keys and values side by side.
    qkv: Var,
    /// width x width.
    attended: Var,
    /// width x hidden.
    up: Var,
    /// hidden x width.
    down: Var,
}

impl Block {
    /// Random weights; one seed gives nearby ones in every type.
    ///
    /// # Errors
    /// candle's, from the device.
    pub fn random(config: Config, seed: u64, dtype: DType, device: &Device) -> Result<Self> {
        let Config { width, hidden, .. } = config;
        let weight = |stream, rows, columns| Var::from_tensor(&random(seed + stream, rows, columns, dtype, device)?);
        Ok(Self {
            config,
            qkv: weight(0, width, 3 * width)?,
            attended: weight(1, width, width)?,
            up: weight(2, width, hidden)?,
            down: weight(3, hidden, width)?,
        })
    }

    /// A random input, tokens x width.
    ///
    /// # Errors
    /// candle's, from the device.
    pub fn random_input(&self, seed: u64) -> Result<Tensor> {
        let Config { tokens, width, .. } = self.config;
        random(seed, tokens, width, self.qkv.dtype(), self.qkv.device())
    }

    /// The weights, with their names.
    pub fn weights(&self) -> [(&'static str, &Var); 4] {
        let Self {
            qkv,
            attended,
            up,
            down,
            ..
        } = self;
        [("qkv", qkv), ("attended", attended), ("up", up), ("down", down)]
    }

    /// The same block with the same numbers in another type.
    ///
    /// # Errors
    /// candle's, from the device.
    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        let weight = |weight: &Var| Var::from_tensor(&weight.to_dtype(dtype)?);
        Ok(Self {
            config: self.config,
            qkv: weight(&self.qkv)?,
            attended: weight(&self.attended)?,
            up: weight(&self.up)?,
            down: weight(&self.down)?,
        })
    }

    /// The block's output, tokens x width.
    ///
    /// # Errors
    /// Those of `products`, and candle's.
    pub fn forward(&self, products: &dyn Products, x: &Tensor) -> Result<Tensor> {
        let x = (x + self.attention(products, &rms_norm(x)?)?)?;
        let up = products.product("up", &rms_norm(&x)?, &self.up)?.gelu()?;
        &x + products.product("down", &up, &self.down)?
    }

    fn attention(&self, products: &dyn Products, x: &Tensor) -> Result<Tensor> {
        let Config { tokens, heads, .. } = self.config;
        let qkv = products.product("qkv", x, &self.qkv)?;
        // tokens x 3 width -> 3 x heads x tokens x head width: views, whose rows stay where they are.
        let qkv = qkv.reshape((tokens, 3, heads, ()))?.permute((1, 2, 0, 3))?;
        let [q, k, v] = [qkv.get(0)?, qkv.get(1)?, qkv.get(2)?];
        let scale = (q.dim(D::Minus1)? as f64).powf(-0.5);
        let scores = (products.product("scores", &q, &k.t()?)? * scale)?;
        let heads = products.product("values", &softmax(&scores)?, &v)?;
        let side_by_side = heads.transpose(0, 1)?.reshape((tokens, ()))?;
        products.product("attended", &side_by_side, &self.attended)
    }
}

/// Random numbers of variance 1/rows, so that a product by this matrix is as large as what is multiplied.
fn random(seed: u64, rows: usize, columns: usize, dtype: DType, device: &Device) -> Result<Tensor> {
    // Uniform in (-1, 1), of variance 1/3.
    let uniform = Tensor::from_vec(random_matrix::<f32>(seed, rows * columns), (rows, columns), device)?;
    (uniform * (3.0 / rows as f64).sqrt())?.to_dtype(dtype)
}

/// Each row over the root of the mean of its squares.
fn rms_norm(x: &Tensor) -> Result<Tensor> {
    let mean_square = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(mean_square + 1e-5)?.sqrt()?)
}

/// The softmax of each row.
fn softmax(x: &Tensor) -> Result<Tensor> {
    let exp = x.broadcast_sub(&x.max_keepdim(D::Minus1)?.detach())?.exp()?;
    exp.broadcast_div(&exp.sum_keepdim(D::Minus1)?)
}
