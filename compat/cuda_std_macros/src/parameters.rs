//! Types of kernel parameters.

use syn::Type;

/// Whether a value of the type leads to functions: `fn()`, `&dyn Trait`, `*const dyn Trait`.
pub fn points_to_code(ty: &Type) -> bool {
    let dynamic = |ty: &Type| matches!(peel(ty), Type::TraitObject(_));
    match ty {
        Type::BareFn(_) => true,
        Type::Reference(reference) => dynamic(&reference.elem),
        Type::Ptr(pointer) => dynamic(&pointer.elem),
        _ => false,
    }
}

/// The type without parentheses and the invisible groups that `macro_rules!` leaves around a `$t:ty`.
pub fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Paren(inner) => &inner.elem,
            Type::Group(inner) => &inner.elem,
            _ => return ty,
        };
    }
}
