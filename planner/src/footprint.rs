//! How much shared memory a template takes, and whether that fits.

use cuda_arch::Architecture;

use crate::budget::Budget;
use crate::layout::{Layout, layout};
use crate::rules::{self, Violation};
use crate::template::Template;

/// A template with its budget and what it takes of it: all that a search for something that fits needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub template: Template,
    pub budget: Budget,
    /// Static and dynamic shared memory of a CTA.
    pub total_bytes: u64,
}

impl Footprint {
    /// The footprint of a template that is to leave `margin_bytes` free.
    ///
    /// # Errors
    /// A [`Violation`] where the template or the margin breaks a rule.
    pub fn new(template: &Template, arch: &Architecture, margin_bytes: u64) -> Result<Self, Violation> {
        let support = template.check(arch)?;
        Self::laid_out(template, arch, margin_bytes, &layout(template, arch, &support))
    }

    /// The same of a template that keeps the rules and is laid out already.
    ///
    /// # Errors
    /// [`rules::MARGIN`] where the margin leaves nothing.
    pub fn laid_out(
        template: &Template,
        arch: &Architecture,
        margin_bytes: u64,
        layout: &Layout,
    ) -> Result<Self, Violation> {
        let limit = if template.operands_static {
            Budget::by_default(arch)
        } else {
            Budget::opted_in(arch)
        };
        Ok(Self {
            template: *template,
            budget: rules::with_margin(limit, margin_bytes)?,
            total_bytes: layout.total_bytes(),
        })
    }

    /// Whether it is within its budget.
    pub fn fits(&self) -> bool {
        self.budget.fits(self.total_bytes)
    }

    /// Bytes beyond its budget.
    pub fn over_by_bytes(&self) -> u64 {
        self.budget.over_by_bytes(self.total_bytes)
    }

    /// The part that is static: all of it where the operands' tiles are.
    pub fn static_bytes(&self) -> u64 {
        if self.template.operands_static {
            self.total_bytes
        } else {
            self.template.static_bytes.into()
        }
    }

    /// The part that a launch asks for.
    pub fn dynamic_bytes(&self) -> u64 {
        self.total_bytes - self.static_bytes()
    }
}

/// Bytes of dynamic shared memory that a launch of the template asks for.
///
/// # Errors
/// A [`Violation`] where the template breaks a rule other than the amount of shared memory.
pub fn dynamic_bytes(template: &Template, arch: &Architecture) -> Result<u64, Violation> {
    Ok(Footprint::new(template, arch, 0)?.dynamic_bytes())
}

/// The most stages, in the frontend's meaning, with which a template fits; `None` where not even the fewest do. The
/// template's own stages do not matter.
///
/// # Errors
/// A [`Violation`] where the template or the margin breaks a rule.
pub(crate) fn most_stages(
    template: &Template,
    arch: &Architecture,
    margin_bytes: u64,
) -> Result<Option<u32>, Violation> {
    let with = |buffers| Template {
        stages: template.frontend.stages(buffers, template.path),
        ..*template
    };
    let one = with(1);
    let support = one.check(arch)?;
    let of_one = layout(&one, arch, &support);
    let first = Footprint::laid_out(&one, arch, margin_bytes, &of_one)?;
    if !first.fits() {
        return Ok(None);
    }
    let left_bytes = first.budget.left_bytes(first.total_bytes);
    // Each further buffer costs a stage's bytes; padding can make it a little more, never less.
    let most = match of_one.stage_bytes() {
        0 => 1,
        stage => (1 + left_bytes / stage).min(512) as u32,
    };
    let fits = |buffers: &u32| first.budget.fits(layout(&with(*buffers), arch, &support).total_bytes());
    Ok((1..=most).rev().find(fits).map(|buffers| with(buffers).stages))
}
