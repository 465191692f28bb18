//! Trains and evaluates on labelled JSONL, with the features and vectors named:
//!
//! `cargo run --release -p bulkhead-classifier --example measure -- TRAIN TEST... [words=2] [characters=5]
//! [bits=18] [model=FOLDER] [configuration=TOML] [svg=FILE] [language=de] [costs=0.3,1] [scales=1]`
//!
//! Each line is `{"text": ..., "category": ...}`; a category that the training part lacks counts as no category.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bulkhead_classifier::dataset::Dataset;
use bulkhead_classifier::evaluation::{Prediction, evaluate};
use bulkhead_classifier::selection::{compare, parameter_grid};
use bulkhead_classifier::tickets::{self, Ticket};
use bulkhead_classifier::training::separation::Separation;
use bulkhead_classifier::training::{Settings, train};
use bulkhead_inference::model::{EmbedOptions, LoadOptions, Model, Scratch};
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::{FeatureSettings, Row};

#[derive(Default)]
struct Arguments {
    files: Vec<PathBuf>,
    features: Option<FeatureSettings>,
    model: Option<PathBuf>,
    configuration: Option<PathBuf>,
    language: Option<String>,
    svg: Option<PathBuf>,
    costs: Vec<f64>,
    scales: Vec<f64>,
}

fn main() {
    let arguments = arguments();
    let embedder =
        arguments.model.as_deref().map(|folder| Model::load(folder, &LoadOptions::default()).unwrap());
    let [training, tests @ ..] = arguments.files.as_slice() else { panic!("a training file and test files") };
    let mut tickets = read(training, &arguments);
    tickets.extend(arguments.configuration.as_deref().map(described).unwrap_or_default());
    let mut labels: Vec<String> = tickets.iter().map(|ticket| ticket.category.clone()).collect();
    labels.sort();
    labels.dedup();
    let rows = |tickets: &[Ticket]| rows(tickets, arguments.features.as_ref(), embedder.as_ref());

    let start = Instant::now();
    let mut examples =
        Dataset::new(labels.clone(), embedder.as_ref().map_or(0, Model::dims), columns(&arguments));
    for (ticket, (dense, sparse)) in tickets.iter().zip(rows(&tickets)) {
        examples.push(labels.binary_search(&ticket.category).unwrap(), &dense, sparse).unwrap();
    }
    println!("{} examples of {} categories, rows in {:.1?}", examples.len(), labels.len(), start.elapsed());
    let start = Instant::now();
    let settings = choose(&examples, &arguments);
    println!("chosen in {:.1?}: {settings:?}", start.elapsed());
    let start = Instant::now();
    let trained = train(&examples, &settings).unwrap();
    println!(
        "trained in {:.1?}, temperature {}, held-out accuracy {:.4}",
        start.elapsed(),
        trained.model.temperature,
        trained.held_out.accuracy()
    );

    for test in tests {
        let tickets = read(test, &arguments);
        let predictions: Vec<Prediction> = tickets
            .iter()
            .zip(rows(&tickets))
            .map(|(ticket, (dense, sparse))| {
                let example = bulkhead_classifier::dataset::Example { dense: &dense, sparse: &sparse };
                let probabilities = trained.model.probabilities(example);
                Prediction { probabilities, target: labels.binary_search(&ticket.category).ok() }
            })
            .collect();
        let report = evaluate(&trained.model.labels, &predictions, None).unwrap();
        if std::env::var_os("BRIEF").is_some() {
            println!(
                "{}: accuracy {:.4} macro-F1 {:.4} ece {:.4}",
                test.display(),
                report.accuracy,
                report.macro_f1,
                report.calibration_error
            );
        } else {
            println!("\n{}\n{}", test.display(), report.text());
        }
        if let Some(file) = &arguments.svg {
            std::fs::write(file, report.svg()).unwrap();
        }
    }
}

fn arguments() -> Arguments {
    let (mut words, mut characters, mut bits) = (0, 0, 18);
    let mut arguments = Arguments { scales: vec![1.0], ..Arguments::default() };
    let numbers = |value: &str| value.split(',').map(|number| number.parse().expect("a number")).collect();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None => arguments.files.push(argument.into()),
            Some(("words", value)) => words = value.parse().expect("a number"),
            Some(("characters", value)) => characters = value.parse().expect("a number"),
            Some(("bits", value)) => bits = value.parse().expect("a number"),
            Some(("model", value)) => arguments.model = Some(value.into()),
            Some(("configuration", value)) => arguments.configuration = Some(value.into()),
            Some(("language", value)) => arguments.language = Some(value.into()),
            Some(("svg", value)) => arguments.svg = Some(value.into()),
            Some(("costs", value)) => arguments.costs = numbers(value),
            Some(("scales", value)) => arguments.scales = numbers(value),
            Some(_) => panic!("unknown argument {argument}"),
        }
    }
    if words + characters > 0 {
        let shortest = if characters == 0 { 0 } else { 3 };
        let settings = FeatureSettings::words_and_characters(bits);
        arguments.features = Some(FeatureSettings { words, shortest, longest: characters, ..settings });
    }
    arguments
}

fn columns(arguments: &Arguments) -> usize {
    arguments.features.as_ref().map_or(0, FeatureSettings::columns)
}

fn choose(examples: &Dataset, arguments: &Arguments) -> Settings {
    let grid = match arguments.costs.as_slice() {
        [] => parameter_grid(examples),
        costs => {
            let scaled =
                |cost: &f64| arguments.scales.iter().map(|scale| (*cost, *scale)).collect::<Vec<_>>();
            let separation = |(cost, sparse_scale)| Separation { cost, dense_scale: 1.0, sparse_scale };
            costs.iter().flat_map(scaled).map(|pair| Settings::Separation(separation(pair))).collect()
        }
    };
    let candidates = compare(examples, &grid).unwrap();
    for candidate in &candidates {
        println!("  {candidate:?}");
    }
    candidates[0].settings
}

fn read(file: &PathBuf, arguments: &Arguments) -> Vec<Ticket> {
    let tickets = tickets::read(&std::fs::read_to_string(file).unwrap()).unwrap().into_iter();
    let wanted = |ticket: &Ticket| arguments.language.is_none() || arguments.language == ticket.language;
    tickets.filter(wanted).collect()
}

/// Reads the lines of the categories' descriptions.
fn described(configuration: &Path) -> Vec<Ticket> {
    let settings = toml::from_str(&std::fs::read_to_string(configuration).unwrap()).unwrap();
    let configuration = Configuration::new(settings).unwrap();
    let lines = configuration.categories.iter().flat_map(|category| {
        let ticket = move |text: &String| Ticket {
            text: text.clone(),
            category: category.name.clone(),
            language: None,
        };
        category.examples.iter().map(ticket)
    });
    lines.collect()
}

fn rows(
    tickets: &[Ticket],
    features: Option<&FeatureSettings>,
    model: Option<&Model>,
) -> Vec<(Vec<f32>, Row)> {
    let mut scratch = Scratch::new();
    let options = EmbedOptions { prompt: Some(Arc::from("query: ")), ..EmbedOptions::default() };
    let row = |ticket: &Ticket| {
        let text = bulkhead_text::clean::clean(&ticket.text);
        let dense = model.map_or(Vec::new(), |model| {
            let ids = model.tokenize(&text, &options).unwrap().ids;
            let mut vector = vec![0.0; model.dims()];
            model.embed(&ids, &[0, ids.len()], &mut scratch, &mut vector).unwrap();
            model.finish(&mut vector, &options).to_vec()
        });
        (dense, features.map_or(Row::default(), |features| features.row(&text)))
    };
    tickets.iter().map(row).collect()
}
