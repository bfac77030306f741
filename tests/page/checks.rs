//! What must be true of what the browser saw.

use serde_json::Value;
use tilewright_plan::{KernelReport, Refusal, Report, Request, Worksheet, kernel_report, report};

use crate::browser::Sight;
use crate::{Check, Outcome, Runs, over_budget};

/// Every check by its name.
pub const ALL: [(&str, Check); 12] = [
    ("the module answers as the planner does, to the bit", answers_to_the_bit),
    ("the tables show the planner's numbers", tables),
    ("the bars are those of the worksheets", bars),
    (
        "a broken rule is shown with its source and the nearest legal value",
        broken_rules,
    ),
    ("the moves are shown and can be taken", moves),
    ("kernels of buffers are shown, and their moves can be taken", kernels),
    (
        "without a tile the fastest is selected, and others can be taken",
        candidates,
    ),
    ("the choice is in the address", addresses),
    ("the page begins with the request that it was made with", beginning),
    ("texts of the picture do not lie over each other", overlaps),
    ("everything has the width of its place, on a telephone too", widths),
    ("nothing fails and nothing is fetched", silence),
];

macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}

impl Runs {
    fn sights(&self) -> impl Iterator<Item = &Sight> {
        self.wide.steps.iter().chain(&self.narrow.steps)
    }

    fn after(&self, step: &str) -> Result<&Sight, String> {
        self.sights()
            .find(|sight| sight.name == step)
            .ok_or(format!("no step `{step}`"))
    }
}

impl Sight {
    fn request(&self) -> Result<Request, String> {
        let question: Value = serde_json::from_str(&self.question).map_err(|error| error.to_string())?;
        serde_json::from_value(question["request"].clone()).map_err(|error| format!("{}: {error}", self.name))
    }

    /// The native planner's answer to what the page asked.
    fn expected(&self) -> Result<Result<Report, Refusal>, String> {
        Ok(report(&self.request()?))
    }

    /// Every sight that shows an answer, not a problem.
    fn shown(runs: &Runs) -> impl Iterator<Item = (&Sight, Report)> {
        let shown = runs.sights().filter(|sight| sight.problem.is_empty());
        shown.filter_map(|sight| Some((sight, sight.expected().ok()?.ok()?)))
    }

    /// The numbers of a row of the worksheet's table.
    fn row(&self, name: &str) -> Option<Vec<&str>> {
        let row = self
            .sheet
            .iter()
            .find(|row| row.first().is_some_and(|first| first == name))?;
        Some(row[1..].iter().map(String::as_str).collect())
    }
}

fn answers_to_the_bit(runs: &Runs) -> Outcome {
    let mut configurations = 0;
    for sight in runs.sights() {
        let native = tilewright_plan_web::answer(&sight.question);
        hold!(
            sight.answer == native,
            "{}: {} is not {native}",
            sight.name,
            sight.answer
        );
        // And that is the planner's own report, whatever is around it.
        let Ok(report) = sight.expected()? else {
            continue;
        };
        let json = serde_json::to_string(&report).map_err(|error| error.to_string())?;
        hold!(
            sight.answer.contains(&format!("\"report\":{json}")),
            "{}: not {json}",
            sight.name
        );
        configurations += 1;
    }
    hold!(
        configurations >= 20,
        "only {configurations} configurations were answered"
    );
    Ok(())
}

fn tables(runs: &Runs) -> Outcome {
    let mut fitting = [0, 0];
    for (sight, report) in Sight::shown(runs) {
        let Sight { name, .. } = sight;
        let sheet = &report.worksheet;
        let text = |number: u64| number.to_string();
        for part in &sheet.components {
            let row = sight.row(&part.name).unwrap_or_default();
            let stage = part.per_stage.map_or(String::new(), text);
            let expected = [stage, text(part.bytes), text(part.offset)];
            hold!(
                row.starts_with(&expected.each_ref().map(String::as_str)),
                "{name}, {}: {row:?}",
                part.name
            );
        }
        let last = match sheet.fits {
            true => ("left", sheet.left_bytes),
            false => ("over by", sheet.over_by_bytes),
        };
        let limit = ("limit of a block", sheet.limit_bytes);
        for (line, bytes) in [
            ("total", sheet.total_bytes),
            limit,
            ("reserved besides", sheet.reserved_bytes),
            last,
        ] {
            let row = sight.row(line).unwrap_or_default();
            hold!(
                row.get(1) == Some(&&*text(bytes)),
                "{name}, {line}: {row:?}, not {bytes}"
            );
        }
        let words = format!("{} B of {} B", sheet.total_bytes, sheet.limit_bytes);
        let verdict = if sheet.fits { "fits" } else { "over by" };
        hold!(
            sight.verdict.starts_with(&words) && sight.verdict.contains(verdict),
            "{name}: {}",
            sight.verdict
        );
        fitting[usize::from(sheet.fits)] += 1;

        let blocks = format!("CTAs of an SM{}", sheet.occupancy.blocks_per_sm);
        let registers = sheet.registers.math.to_string();
        let fact = |begin: &str, within: &str| {
            let mut facts = sight.facts.iter();
            facts.any(|fact| fact.starts_with(begin) && fact.contains(within))
        };
        hold!(fact(&blocks, "limited by"), "{name}: {:?}", sight.facts);
        hold!(fact("Registers of a thread", &registers), "{name}: {:?}", sight.facts);
        hold!(
            fact("Tensor memory", " of 512 columns") == sheet.tensor_memory.is_some(),
            "{name}: {:?}",
            sight.facts
        );
        hold!(
            fact("Estimated time", "µs") == report.estimate.is_some(),
            "{name}: {:?}",
            sight.facts
        );
        for limiter in sheet.occupancy.limiters() {
            let resource = format!("{limiter:?}").to_lowercase();
            let marked = |row: &Vec<String>| {
                row.last().is_some_and(|last| last == "limits")
                    && (row[0].replace(' ', "") == resource || row[0].ends_with(&resource))
            };
            hold!(
                sight.resources.iter().any(marked),
                "{name}, {resource}: {:?}",
                sight.resources
            );
        }
    }
    hold!(fitting.iter().all(|count| *count >= 3), "{fitting:?}");
    Ok(())
}

/// The parts that a bar draws.
fn parts<T>(sheet: &Worksheet<T>) -> Vec<(String, u64)> {
    let drawn = sheet.components.iter().filter(|part| part.bytes > 0);
    drawn.map(|part| (part.name.to_string(), part.bytes)).collect()
}

fn bars(runs: &Runs) -> Outcome {
    for (sight, report) in Sight::shown(runs) {
        let mut expected = parts(&report.worksheet);
        expected.extend(report.worksheet_after_moves.iter().flat_map(parts));
        // Bars of other architectures follow.
        hold!(
            sight.parts.starts_with(&expected),
            "{}: {:?}, not {expected:?}",
            sight.name,
            sight.parts
        );
    }
    let (alone, compared) = (runs.after("over budget")?, runs.after("compared")?);
    hold!(
        alone.parts.len() < compared.parts.len(),
        "no bars of other architectures"
    );
    // sm_100 has no accumulators in shared memory: it gets what is usual there. sm_75 and sm_90 widen.
    hold!(compared.others.is_empty(), "{:?}", compared.others);
    hold!(
        runs.after("compared no more")?.parts == alone.parts,
        "bars stay when the marks go"
    );
    hold!(
        runs.after("more stages")?.parts != runs.after("moves taken")?.parts,
        "bars do not follow the stages"
    );
    Ok(())
}

fn broken_rules(runs: &Runs) -> Outcome {
    let says = |step: &str, what: &str, source: &str, nearest: &str, field: &str| -> Outcome {
        let sight = runs.after(step)?;
        hold!(
            sight.problem.contains(what) && sight.problem.contains(source),
            "{step}: `{}` has not `{what}` and `{source}`",
            sight.problem
        );
        hold!(
            sight.nearest.ends_with(nearest),
            "{step}: `{}` is not `{nearest}`",
            sight.nearest
        );
        hold!(
            sight.invalid == [field],
            "{step}: marked {:?}, not {field}",
            sight.invalid
        );
        hold!(
            sight.verdict.is_empty() && sight.facts.is_empty(),
            "{step}: old numbers stay"
        );
        Ok(())
    };
    says(
        "100 rows",
        "tile m 100: ",
        "Source: PTX ISA",
        ": tile 128x256x64",
        "tile.m",
    )?;
    says(
        "no such instructions",
        "wgmma for nvfp4",
        "PTX ISA",
        ": path mma.sync",
        "path",
    )?;
    says(
        "a margin of everything",
        "margin of bytes 300000",
        "",
        ": margin 101375",
        "margin_bytes",
    )?;
    // These the field itself refuses.
    says("no whole number", "stages", "", ": 1", "stages")?;
    says("beyond all numbers", "stages", "", ": 4294967295", "stages")?;
    says(
        "largest taken",
        "stages 4294967295",
        "stages at most 1024",
        ": stages 1024",
        "stages",
    )?;
    let taken = runs.after("nearest taken")?;
    hold!(
        taken.values["tile.m"] == "128" && taken.problem.is_empty(),
        "{}",
        taken.problem
    );
    hold!(
        taken.values["stages"] == "6",
        "the rest of the form stays: {:?}",
        taken.values
    );
    // A page without a tile and without a shape says what it needs.
    let beginning = runs.after("beginning")?;
    hold!(beginning.problem.contains("a tile (MxNxK)"), "{}", beginning.problem);
    Ok(())
}

fn moves(runs: &Runs) -> Outcome {
    let over = runs.after("over budget")?;
    let Ok(report) = over.expected()? else {
        return Err("the example is legal".into());
    };
    hold!(
        !report.moves.is_empty() && over.moves.len() == report.moves.len(),
        "{:?}",
        over.moves
    );
    for (shown, made) in over.moves.iter().zip(&report.moves) {
        let bytes = format!("{} → {} B", made.before_bytes, made.after_bytes);
        let all = [made.name, &bytes, &made.reason, &made.cost.text];
        hold!(all.iter().all(|part| shown.contains(part)), "{shown} has not {all:?}");
    }
    let taken = runs.after("moves taken")?;
    let (Ok(now), Some(planned)) = (taken.expected()?, report.worksheet_after_moves) else {
        return Err("the moves lead to a legal template".into());
    };
    hold!(
        now.worksheet == planned && planned.fits,
        "{:?} is not {planned:?}",
        now.worksheet
    );
    hold!(taken.moves.is_empty(), "moves where everything fits: {:?}", taken.moves);

    let impossible = runs.after("impossible")?;
    let proof = impossible.expected()?.ok().and_then(|report| report.impossible);
    hold!(
        proof == Some(impossible.impossible.clone()),
        "{proof:?} is not `{}`",
        impossible.impossible
    );
    Ok(())
}

fn kernels(runs: &Runs) -> Outcome {
    let report_after = |step: &str| -> Result<(&Sight, KernelReport), String> {
        let sight = runs.after(step)?;
        let report = kernel_report(&sight.request()?).map_err(|refusal| format!("{step}: {refusal}"))?;
        Ok((sight, report))
    };
    for (over, taken) in [
        ("named buffers", "buffers that fit"),
        ("FlashAttention", "attention that fits"),
    ] {
        let (sight, report) = report_after(over)?;
        let json = serde_json::to_string(&report).map_err(|error| error.to_string())?;
        hold!(
            sight.answer.contains(&format!("\"report\":{json}")),
            "{over}: not {json}"
        );
        for part in &report.worksheet.components {
            let name = format!("{} {}", part.name, part.shape.as_deref().unwrap_or_default());
            let row = sight.row(name.trim_end()).unwrap_or_default();
            hold!(row.get(1) == Some(&&*part.bytes.to_string()), "{over}, {name}: {row:?}");
        }
        let mut drawn = parts(&report.worksheet);
        drawn.extend(report.after_moves.iter().flat_map(parts));
        hold!(sight.parts == drawn, "{over}: {:?}, not {drawn:?}", sight.parts);
        hold!(
            !report.moves.is_empty() && sight.moves.len() == report.moves.len(),
            "{over}: {:?}",
            sight.moves
        );
        let (sight, now) = report_after(taken)?;
        hold!(
            Some(&now.worksheet) == report.after_moves.as_ref() && sight.moves.is_empty(),
            "{taken}: {:?}",
            now.worksheet
        );
    }
    let wrong = runs.after("a wrong buffer")?;
    hold!(
        wrong.problem.contains("line 2: `kv`") && wrong.invalid == ["buffers"],
        "{}, {:?}",
        wrong.problem,
        wrong.invalid
    );
    Ok(())
}

fn candidates(runs: &Runs) -> Outcome {
    let selected = runs.after("selected")?;
    let Ok(report) = selected.expected()? else {
        return Err("something can be selected".into());
    };
    hold!(selected.candidates.len() == 13, "{} rows", selected.candidates.len());
    for (row, candidate) in selected.candidates[1..].iter().zip(&report.candidates) {
        let bytes = candidate.total_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        let expected = [
            candidate.tile.to_string(),
            candidate.stages.to_string(),
            candidate.path.to_string(),
        ];
        hold!(row[..3] == expected && row[6] == bytes, "{row:?} is not {candidate:?}");
    }
    let (second, taken) = (&report.candidates[1], runs.after("second candidate")?);
    let Ok(now) = taken.expected()? else {
        return Err(taken.problem.clone().into());
    };
    let sheet = &now.worksheet;
    let template = &sheet.template;
    hold!(
        (template.tile, template.stages, template.path, Some(sheet.total_bytes))
            == (second.tile, second.stages, second.path, second.total_bytes),
        "{template:?} is not {second:?}"
    );
    hold!(
        now.estimated_us == second.estimated_us,
        "{:?} is not {second:?}",
        now.estimated_us
    );
    let elsewhere = runs.after("another product")?;
    hold!(
        elsewhere.request()?.gpu.as_deref() == Some("H100 SXM") && elsewhere.facts != taken.facts,
        "{:?}",
        elsewhere.facts
    );
    Ok(())
}

fn addresses(runs: &Runs) -> Outcome {
    let over = runs.after("over budget")?;
    hold!(
        over.fragment == "#arch=sm_120&dtype=nvfp4&tile.m=128&tile.n=256&tile.k=64&stages=4&accumulator=smem",
        "{}",
        over.fragment
    );
    hold!(
        runs.after("compared")?.fragment == format!("{}&compare=sm_75+sm_90+sm_100", over.fragment),
        "{}",
        runs.after("compared")?.fragment
    );
    let opened = runs.after("address")?;
    let Request {
        arch, tile, epilogue, ..
    } = opened.request()?;
    let tile = tile.map(|tile| tile.to_string());
    let epilogue = epilogue.map(|epilogue| epilogue.to_string());
    hold!(
        (&*arch, tile.as_deref(), epilogue.as_deref()) == ("sm_86", Some("64x128x32"), Some("32x32")),
        "{}",
        opened.question
    );
    hold!(
        opened.question.contains("\"compare\":[\"sm_90\"]"),
        "{}",
        opened.question
    );
    let command = "tilewright plan --arch sm_86 --dtype f16 --tile 64x128x32 --stages 3 --epilogue 32x32";
    hold!(opened.command == command, "{}", opened.command);
    Ok(())
}

fn beginning(runs: &Runs) -> Outcome {
    let first = runs.narrow.steps.first().ok_or("no steps")?;
    let expected = Request {
        explain: true,
        ..over_budget()
    };
    hold!(first.request()? == expected, "{} is not {expected:?}", first.question);
    hold!(
        first.fragment.is_empty(),
        "an address before anything was chosen: {}",
        first.fragment
    );
    Ok(())
}

fn overlaps(runs: &Runs) -> Outcome {
    for sight in runs.sights() {
        hold!(sight.overlaps.is_empty(), "{}: {:?}", sight.name, sight.overlaps);
    }
    Ok(())
}

fn widths(runs: &Runs) -> Outcome {
    for sight in runs.sights() {
        hold!(sight.too_wide.is_empty(), "{}: {:?}", sight.name, sight.too_wide);
        // The table of many bars needs more room than a telephone has, and scrolls in its place.
        let (picture, frame) = (sight.picture_width, sight.frame_width);
        let fills = picture == frame || sight.window_width < 500 && picture > frame;
        hold!(
            !sight.problem.is_empty() || fills,
            "{}: a picture of {picture} in {frame}",
            sight.name
        );
    }
    let [wide, narrow] =
        [&runs.wide, &runs.narrow].map(|seen| seen.steps.first().map_or(0, |sight| sight.window_width));
    hold!(wide > 1000 && narrow < 500, "windows of {wide} and {narrow} pixels");
    Ok(())
}

fn silence(runs: &Runs) -> Outcome {
    for seen in [&runs.wide, &runs.narrow] {
        hold!(seen.errors.is_empty(), "{:?}", seen.errors);
        hold!(seen.fetched.is_empty(), "{:?}", seen.fetched);
    }
    Ok(())
}
