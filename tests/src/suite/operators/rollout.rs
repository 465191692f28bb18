//! Random sequences of what operators do, of failures and of kills: after each step the host is where a model is that
//! knows nothing of hosts.
//!
//! A failure prints its seed and the fewest steps that were found to fail. `BULKHEAD_ROLLOUT_SEED` gives the seed again.

mod model;
mod process;
mod steps;

use std::{
    env,
    panic::AssertUnwindSafe,
    time::{SystemTime, UNIX_EPOCH},
};

use futures_util::FutureExt as _;

use self::{
    model::{Model, ModelState, TRAPPING, Trial},
    process::{Process, Seen},
    steps::{Kind, Meaning, Step, is_failing, sequence, shrink},
};
use bulkhead_tests::host::eventually;

/// Sequences of one run, each on a data folder of its own.
const SEQUENCES: u64 = 5;
/// Steps of a sequence.
const STEPS: usize = 40;
/// Runs that are made to find fewer steps that fail.
const TRIES: usize = 25;
const SEED: &str = "BULKHEAD_ROLLOUT_SEED";

#[tokio::test(flavor = "multi_thread")]
async fn random_operations_match_the_model() {
    let given = env::var(SEED).ok().map(|seed| seed.parse().expect("the seed is a number"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seeds: Vec<u64> = match given {
        Some(seed) => vec![seed],
        None => (0..SEQUENCES).map(|at| now.wrapping_add(at)).collect(),
    };
    for seed in seeds {
        let steps = sequence(seed, STEPS);
        let Err(error) = run(&steps).await else { continue };
        let fewest = shrink(steps, TRIES, async |steps| run(steps).await.is_err()).await;
        let last = run(&fewest).await.err();
        panic!("{SEED}={seed}: {error}\nthe fewest steps that fail: {last:?}\n{fewest:#?}");
    }
}

/// A change that the model does not hear of is found, and everything else dropped.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_change_is_found_and_shrunk() {
    let step = |kind, choice| Step { kind, choice, second: 3 };
    let sabotage = step(Kind::Sabotage, 0);
    let steps = [step(Kind::Push, 1), step(Kind::Swap, 1), sabotage, step(Kind::Rollback, 0)];
    assert!(run(&[steps[0], steps[1], steps[3]]).await.is_ok());
    let error = run(&steps).await.err().unwrap();
    assert!(error.contains("Sabotage"), "{error}");
    let fewest = shrink(steps.to_vec(), TRIES, async |steps| run(steps).await.is_err()).await;
    assert_eq!(fewest, [sabotage]);
}

/// The watch over a candidate goes on beside the version that a reload of the settings has put in place of the active one.
#[tokio::test(flavor = "multi_thread")]
async fn failing_candidate_goes_after_a_reload() {
    let step = |kind, choice| Step { kind, choice, second: 3 };
    let steps = [step(Kind::Push, 4), step(Kind::Canary, 1), step(Kind::Reload, 1), step(Kind::Fail, 0)];
    run(&steps).await.unwrap();
}

/// Takes the steps on a host of its own; where it and the model differ.
async fn run(steps: &[Step]) -> Result<(), String> {
    let mut trace = Vec::new();
    let taken = AssertUnwindSafe(take(steps, &mut trace)).catch_unwind().await;
    let taken = taken.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
    });
    taken.map_err(|error| format!("{error}\nafter {trace:#?}"))
}

async fn take(steps: &[Step], trace: &mut Vec<Meaning>) -> Result<(), String> {
    let (mut model, mut process) = (Model::new('A', 0), Process::start(0).await);
    compare(&mut model, &mut process).await?;
    for step in steps {
        let meaning = step.meaning(&model);
        if meaning == Meaning::Skip {
            continue;
        }
        trace.push(meaning);
        perform(meaning, &mut model, &mut process).await?;
        compare(&mut model, &mut process).await?;
        if model.state.active.letter == TRAPPING {
            process.fail(model.state.generation).await;
            model.take_back();
            compare(&mut model, &mut process).await?;
        }
    }
    process.stop().await;
    Ok(())
}

/// Has both do what a step means.
async fn perform(meaning: Meaning, model: &mut Model, process: &mut Process) -> Result<(), String> {
    let generation = model.state.generation;
    match meaning {
        Meaning::Act(action) => {
            let mode = model.mode;
            let wanted = model.act(action);
            let done = process.act(action, generation, mode).await;
            if done.as_ref().map_err(String::as_str) != wanted.as_ref().map_err(|code| *code) {
                return Err(format!("{done:?} instead of {wanted:?}"));
            }
        }
        Meaning::Stale(action) => {
            let done = process.act(action, generation + 1, model.mode).await;
            if done != Err("conflict".to_owned()) {
                return Err(format!("{done:?} though the generation is another"));
            }
        }
        Meaning::Interrupt(action, micros) => {
            let possible = model.after_kill(Some(action));
            process.interrupt(action, generation, micros, model.mode).await;
            *model = one_of(possible, process).await?;
        }
        Meaning::Kill => {
            let possible = model.after_kill(None);
            process.kill(model.mode).await;
            *model = one_of(possible, process).await?;
        }
        Meaning::Restart => {
            let possible = model.after_kill(None);
            process.restart(model.mode).await;
            *model = one_of(possible, process).await?;
        }
        Meaning::Block => {
            process.block().await;
            model.is_blocked = true;
        }
        Meaning::Unblock => {
            process.unblock();
            model.is_blocked = false;
        }
        Meaning::Fail => {
            process.fail(generation).await;
            model.take_back();
        }
        Meaning::Sabotage => process.sabotage().await,
        Meaning::Skip => {}
    }
    Ok(())
}

/// The model, of those that are possible, that the host is in.
async fn one_of(possible: Vec<Model>, process: &mut Process) -> Result<Model, String> {
    let seen = process.see().await;
    let is_it = |model: &Model| shown(&model.state) == seen.state;
    match possible.iter().find(|model| is_it(model)) {
        Some(model) => Ok(model.clone()),
        None => Err(format!("{seen:#?}\nis none of {possible:#?}")),
    }
}

/// What a host shows of a state: of what a rollback goes back to only the next.
fn shown(state: &ModelState) -> ModelState {
    ModelState { before: state.before.last().copied().into_iter().collect(), ..state.clone() }
}

/// Compares what the host shows, and what its clients get, with the model.
async fn compare(model: &mut Model, process: &mut Process) -> Result<(), String> {
    let Seen { state, is_kept } = process.see().await;
    if state != shown(&model.state) {
        return Err(format!("the host has {state:#?}\nand the model {model:#?}"));
    }
    match model.is_kept() {
        // A rollback that the host makes is written a moment after it counts.
        Some(true) if !is_kept => {
            let kept = async || process.see().await.is_kept;
            let waited = AssertUnwindSafe(eventually("the state is kept", kept)).catch_unwind().await;
            waited
                .map_err(|_| format!("the host has not written {state:#?}\nand the model is {model:#?}"))?;
        }
        Some(false) if is_kept => return Err("the host has written what it cannot have written".to_owned()),
        None if is_kept => model.note_kept(),
        _ => {}
    }
    if is_failing(model) || model.state.active.letter == TRAPPING {
        return Ok(());
    }
    let (active, candidate) = (model.state.active, model.state.candidate);
    let may_answer: Vec<_> = match candidate {
        Some((candidate, Trial::Canary(100))) => vec![candidate],
        Some((candidate, Trial::Canary(1..))) => vec![active, candidate],
        Some((_, Trial::Canary(0) | Trial::Shadow)) | None => vec![active],
    };
    let answers = process.answers().await;
    let is_answer = |(letter, mode): &(char, u8)| {
        may_answer.iter().any(|version| {
            version.letter == *letter && model.mode_of(*version).is_none_or(|known| known == *mode)
        })
    };
    if answers.iter().all(is_answer) {
        return Ok(());
    }
    Err(format!("clients get {answers:?} of {may_answer:?}: {model:#?}"))
}
