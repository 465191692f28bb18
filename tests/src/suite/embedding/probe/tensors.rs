//! Tensors that are not what a graph takes.

use super::{
    world::{Kind, input},
    *,
};

async fn probe() -> (TempDir, Probe) {
    let folder = TempDir::new().unwrap();
    let model = second().write(folder.path(), "second");
    let probe = Probe::start(&[&model], "memory_bytes = 4194304").await;
    (folder, probe)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_text_needs_no_offsets() {
    let (_folder, probe) = probe().await;
    let wanted = probe.typed("second", &strings(&["ahoy"]), None).await;
    assert_eq!(probe.compute("second", vec![input("text", &[4], Kind::Byte, b"ahoy")]).await, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_tensors_are_refused_by_name() {
    let (_folder, probe) = probe().await;
    let text = || input("text", &[4], Kind::Byte, b"ahoy");
    let offsets = |numbers: &[i32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        input("offsets", &[numbers.len() as u32], Kind::Int32, &bytes)
    };
    for (inputs, fault) in [
        (vec![], "input \"text\" is missing"),
        (vec![input("text", &[5], Kind::Byte, b"ahoy")], "input \"text\" has dimensions [5] of 1 bytes"),
        (vec![input("text", &[2, 2], Kind::Byte, b"ahoy")], "input \"text\" must have 1 dimensions, not 2"),
        (vec![input("text", &[1], Kind::Float32, b"ahoy")], "input \"text\" must have elements of type"),
        (vec![input("text", &[u32::MAX; 4], Kind::Byte, b"")], "which are not its 0 bytes"),
        (vec![input("text", &[1; 9], Kind::Byte, b"a")], "has 9 dimensions, the limit is 4"),
        (vec![input("text", &[2], Kind::Byte, &[0xc3, 0x28])], "input \"text\" is not UTF-8"),
        (vec![text(), text()], "input \"text\" is given twice"),
        (vec![text(), input("pixels", &[1], Kind::Byte, b"a")], "input \"pixels\" is not one of"),
        (vec![text(), offsets(&[0, 3])], "must begin with 0 and end with 4"),
        (vec![text(), offsets(&[0, 3, 1, 4])], "must not fall"),
        (vec![text(), offsets(&[0, -1, 4])], "has a number below 0"),
        (vec![text(), input("prompt_name", &[4], Kind::Byte, b"none")], "prompt_name `none`"),
    ] {
        let refused = probe.compute("second", inputs.clone()).await.unwrap_err();
        assert!(refused.starts_with("ErrorCode::InvalidArgument: "), "{inputs:?}: {refused}");
        assert!(refused.contains(fault), "{inputs:?}: {refused}");
    }
    probe.assert_at_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn graphs_are_not_made_of_bytes() {
    let (_folder, probe) = probe().await;
    let loaded =
        probe.call(|probe, store| Box::pin(async move { probe.exports().call_load(store, b"onnx").await }));
    let refused = loaded.await.unwrap().unwrap_err();
    assert_eq!(
        refused,
        "ErrorCode::UnsupportedOperation: graphs are not loaded from bytes; use load-by-name"
    );
}

/// Tensors live in the host: they share the call's memory with the guest.
#[tokio::test(flavor = "multi_thread")]
async fn hoarded_tensors_are_a_memory_limit() {
    let (_folder, probe) = probe().await;
    let hoard = |count: u32| {
        probe.call(move |probe, store| {
            Box::pin(async move { probe.exports().call_hoard(store, count).await.map(Ok::<_, String>) })
        })
    };
    assert!(hoard(30).await.is_ok(), "30 of 64 KiB fit into 4 MiB, with the guest's own memory");
    let error = hoard(63).await.unwrap_err().to_string();
    assert!(error.contains("memory-limit"), "{error}");
    probe.assert_at_rest().await;
}
