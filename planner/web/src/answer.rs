//! A question of the page and its answer.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};
use tilewright_plan::picture::{self, Bar};
use tilewright_plan::{
    Kernel, KernelReport, Path, Refusal, Report, Request, Subject, Worksheet, as_usual, kernel_report, report,
};

use crate::problem::{Problem, problem};
use crate::requests;
use crate::words::{self, Fact, Resource};

/// The fastest candidates that the page lets choose.
const SHOWN_CANDIDATES: usize = 12;

/// What the page asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The request to the planner.
    request: Request,
    /// Architectures to draw a bar of the same template for.
    #[serde(default)]
    compare: Vec<String>,
    /// The width of the picture in pixels.
    #[serde(default)]
    width: Option<u32>,
}

/// What the page shows: a report or an error.
#[derive(Default, Serialize)]
struct Answer {
    /// The planner's report.
    report: Option<AnyReport>,
    /// Why there is none.
    error: Option<Problem>,
    /// The picture.
    svg: String,
    /// Whether it fits, in one line.
    verdict: String,
    /// What matters besides.
    facts: Vec<Fact>,
    /// The resources of an SM.
    resources: Vec<Resource>,
    /// The request with everything that it left open.
    chosen: Option<Request>,
    /// The request that the moves lead to.
    after_moves: Option<Request>,
    /// The requests for the first of the report's candidates, in their order.
    candidates: Vec<Request>,
    /// Architectures that cannot have this template, and why.
    others: Vec<Other>,
    /// The instruction paths that there are for this architecture and type.
    paths: Vec<&'static str>,
    /// The command that gives the same answer.
    command: String,
}

/// A report about a matrix product, or about a kernel of buffers.
#[derive(Serialize)]
#[serde(untagged)]
enum AnyReport {
    Product(Box<Report>),
    Kernel(Box<KernelReport>),
}

#[derive(Serialize)]
struct Other {
    arch: String,
    says: String,
}

/// Answers a question: `{"request": a Request, "compare": ["sm_90"], "width": 800}` with `{"report": a Report or null,
/// "error": what is wrong or null, "svg": the picture, ...}`, both JSON. A question that cannot be read is an error
/// too.
pub fn answer(question: &str) -> String {
    let answer = match serde_json::from_str::<Question>(question) {
        Ok(question) => answer_to(&question),
        Err(error) => Answer {
            error: Some(Problem::unreadable(&error.to_string())),
            ..Answer::default()
        },
    };
    // Maps with other keys than strings are all that serde_json cannot write, and there is none.
    serde_json::to_string(&answer).unwrap_or_default()
}

fn answer_to(question: &Question) -> Answer {
    let request = &question.request;
    let arch = cuda_arch::find(&request.arch).ok();
    let paths = arch.map_or(Vec::new(), |arch| paths(arch, request));
    let command = tilewright_plan::command(request);
    let refused = |refusal: Refusal| Answer {
        error: Some(problem(request, &refusal)),
        paths: paths.clone(),
        command: command.clone(),
        ..Answer::default()
    };
    let Some(arch) = arch else {
        // It says which architectures there are.
        return refused(
            report(request)
                .err()
                .unwrap_or(Refusal::Incomplete("no such architecture")),
        );
    };
    if request.is_of_kernel() {
        let answered = kernel_report(request).map(|report| answer_of_kernel(question, report, arch));
        return match answered {
            Ok(answer) => Answer {
                paths,
                command,
                ..answer
            },
            Err(refusal) => refused(refusal),
        };
    }
    let report = match report(request) {
        Ok(report) => report,
        Err(refusal) => return refused(refusal),
    };
    let chosen = Request {
        gpu: Some(report.gpu.clone()),
        ..requests::of_template(&report.worksheet.template, request)
    };
    let (compared, others) = compare(question, &chosen, arch);
    let after = report.worksheet_after_moves.as_ref();
    Answer {
        svg: draw(report.bars(), &compared, question.width),
        verdict: picture::verdict(&report.worksheet),
        facts: words::facts(&report),
        resources: words::resources(&report.worksheet.occupancy, report.worksheet.template.threads(), arch),
        after_moves: after.map(|sheet| requests::after_moves(request, &report.worksheet, sheet)),
        candidates: report
            .ranked()
            .take(SHOWN_CANDIDATES)
            .map(|template| requests::of_template(template, request))
            .collect(),
        chosen: Some(chosen),
        others,
        paths,
        command,
        report: Some(AnyReport::Product(Box::new(report))),
        error: None,
    }
}

/// The instruction paths of an architecture for the type.
fn paths(arch: &Architecture, request: &Request) -> Vec<&'static str> {
    Path::ALL
        .into_iter()
        .filter(|path| path.support(arch, request.dtype).is_some())
        .map(Path::name)
        .collect()
}

/// The same tile and stages on other architectures: with everything else as asked, or where that is illegal there, as
/// is usual.
fn compare(question: &Question, chosen: &Request, own: &Architecture) -> (Vec<(String, Worksheet)>, Vec<Other>) {
    let mut sheets = Vec::new();
    let mut others = Vec::new();
    for arch in question.compare.iter().filter(|arch| *arch != own.name) {
        let asked = Request {
            arch: arch.clone(),
            gpu: None,
            tile: chosen.tile,
            stages: chosen.stages,
            ..question.request.clone()
        };
        match report(&asked).or_else(|_| report(&as_usual(&asked))) {
            Ok(report) => sheets.push((format!("the same on {arch}"), report.worksheet)),
            Err(refusal) => others.push(Other {
                arch: arch.clone(),
                says: refusal.to_string(),
            }),
        }
    }
    (sheets, others)
}

/// The answer about a kernel of buffers, without its command.
fn answer_of_kernel(question: &Question, report: KernelReport, arch: &Architecture) -> Answer {
    let request = &question.request;
    let (compared, others) = compare_kernel(question, &report, arch);
    let sheet = &report.worksheet;
    Answer {
        svg: draw(report.bars(), &compared, question.width),
        verdict: picture::verdict(sheet),
        facts: words::kernel_facts(&report),
        resources: words::resources(&sheet.occupancy, sheet.template.threads(), arch),
        after_moves: report.after_moves.as_ref().map(|sheet| sheet.template.request(request)),
        chosen: Some(Request {
            gpu: Some(report.gpu.clone()),
            ..sheet.template.request(request)
        }),
        others,
        report: Some(AnyReport::Kernel(Box::new(report))),
        ..Answer::default()
    }
}

/// The same buffers or template on other architectures.
fn compare_kernel(
    question: &Question,
    report: &KernelReport,
    own: &Architecture,
) -> (Vec<(String, Worksheet<Kernel>)>, Vec<Other>) {
    let mut sheets = Vec::new();
    let mut others = Vec::new();
    for arch in question.compare.iter().filter(|arch| *arch != own.name) {
        let asked = Request {
            arch: arch.clone(),
            gpu: None,
            stages: Some(report.worksheet.template.stages()),
            ..question.request.clone()
        };
        match kernel_report(&asked) {
            Ok(report) => sheets.push((format!("the same on {arch}"), report.worksheet)),
            Err(refusal) => others.push(Other {
                arch: arch.clone(),
                says: refusal.to_string(),
            }),
        }
    }
    (sheets, others)
}

fn draw<'a, T: Subject + 'static>(
    mut bars: Vec<Bar<'a>>,
    compared: &'a [(String, Worksheet<T>)],
    width: Option<u32>,
) -> String {
    bars.extend(compared.iter().map(|(label, sheet)| Bar { label, sheet }));
    picture::svg_of_width(&bars, width.unwrap_or(picture::USUAL_WIDTH))
}
