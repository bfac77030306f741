//! Kernels by the names that users type.

use tilewright::plan::{Plan, Policy};
use tilewright::{Bytes, DType, Rung};
use tilewright_contract::{Tile, TileGeometry, VARIANTS, Variant};

use crate::failure::{Failure, Result};

/// What leaves the choice to the program.
pub const AUTO: &str = "auto";

/// The rung of this name, or `None` for [`AUTO`].
pub fn rung(name: &str) -> Result<Option<Rung>> {
    if name == AUTO {
        return Ok(None);
    }
    match Rung::ALL.into_iter().find(|rung| rung.name() == name) {
        Some(rung) => Ok(Some(rung)),
        None => Err(unknown(name)),
    }
}

/// The entry points of this name: all for [`AUTO`], those of a rung, or the one of a symbol.
pub fn entry_points(name: &str) -> Result<Vec<&'static Variant>> {
    let found: Vec<_> = VARIANTS
        .iter()
        .filter(|variant| name == AUTO || variant.rung.name() == name || variant.symbol == name)
        .collect();
    if found.is_empty() {
        Err(unknown(name))
    } else {
        Ok(found)
    }
}

/// A kernel and an element type, as far as the user settled them.
pub struct Choice {
    /// `None` where the program chooses.
    rung: Option<Rung>,
    /// The one entry point that was named, if one was.
    entry_point: Option<&'static Variant>,
    /// The element type.
    pub dtype: DType,
}

impl Choice {
    /// Reads the name of a rung or an entry point, or [`AUTO`], and of an element type. Without one it is the entry point's, or f32.
    pub fn of(name: &str, dtype: Option<&str>) -> Result<Self> {
        let dtype = dtype.map(parse_dtype).transpose()?;
        let entry_point = VARIANTS.iter().find(|variant| variant.symbol == name);
        let rung = match entry_point {
            Some(variant) => Some(variant.rung),
            None => rung(name)?,
        };
        if let (Some(variant), Some(dtype)) = (entry_point, dtype)
            && variant.dtype != dtype
        {
            return Err(Failure::input(format!("{name} takes {}, not {dtype}", variant.dtype)));
        }
        Ok(Self {
            rung,
            entry_point,
            dtype: entry_point.map(|variant| variant.dtype).or(dtype).unwrap_or(DType::F32),
        })
    }

    /// The policy for this choice, where a block may use `limit`. A named entry point without a tile gets one that only it computes.
    pub fn policy(&self, tile: Option<u32>, limit: Bytes) -> Policy {
        let own_tile = self.entry_point.map(|variant| own_width(variant, limit));
        Policy {
            rung: self.rung,
            tile: tile.or(own_tile),
            smem_limit: None,
        }
    }

    /// Refuses a plan that takes another entry point than the one that was named.
    pub fn ensure_taken(&self, plan: &Plan) -> Result<()> {
        let (Some(named), taken) = (self.entry_point, plan.variant()) else {
            return Ok(());
        };
        if named.symbol == taken.symbol {
            return Ok(());
        }
        let widths = match named.tile {
            Tile::Fixed(width) => format!("{width} only"),
            Tile::Runtime { min, max } => format!("{min} to {max}"),
        };
        Err(Failure::input(format!(
            "tile width {} is computed by {}; {} has widths {widths}, but for those with an entry point of their own",
            plan.tile().width(),
            taken.symbol,
            named.symbol
        )))
    }
}

/// A tile width for which `variant` is taken: of those that fit, the widest multiple of 16, else the widest power of two, else the
/// widest. Where none fits, the narrowest: the plan then says what is missing.
fn own_width(variant: &'static Variant, limit: Bytes) -> u32 {
    let own = |width: &u32| {
        Variant::find(variant.rung, variant.dtype, *width).is_some_and(|found| found.symbol == variant.symbol)
    };
    let fits = |width: &u32| {
        TileGeometry::new(*width)
            .is_ok_and(|tile| variant.static_bytes().get() + variant.dynamic_bytes(tile).get() <= limit.get())
    };
    let widths = || (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH).filter(own);
    let widest = |suits: fn(&u32) -> bool| widths().filter(fits).rfind(suits);
    widest(|width| width.is_multiple_of(16))
        .or_else(|| widest(|width| width.is_power_of_two()))
        .or_else(|| widest(|_| true))
        .or_else(|| widths().next())
        .unwrap_or(TileGeometry::MIN_WIDTH)
}

/// The element type of this name.
pub fn parse_dtype(name: &str) -> Result<DType> {
    name.parse()
        .map_err(|problem| Failure::input(format!("`{name}`: {problem}")))
}

fn unknown(name: &str) -> Failure {
    let known = Rung::ALL.map(Rung::name).join(", ");
    Failure::input(format!("unknown kernel `{name}`; known: {AUTO}, {known}"))
}
