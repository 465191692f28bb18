//! Tests of the configuration of the ticket service.

use crate::config::configured::{each_refused, loaded, refused};

#[test]
fn passages_must_fit_into_llm_calls() {
    let config = |strategy: &str, more: &str, limit: u32| {
        format!(
            "[tickets.answer]\nstrategy = '{strategy}'\n[tickets.knowledge]\nlimit = {limit}\n[tickets.llm]\n\
             url = 'https://llm.example.org/v1'\nallow = ['https://llm.example.org']\nmodel = 'small'\n{more}"
        )
    };
    // 50 of 1000 characters are 16667 tokens, and the answer has 1024.
    let refusal = refused(&config("llm", "", 50), &[]).to_string();
    for part in ["line 4: tickets.knowledge.limit: ", "16667 tokens", "tickets.llm.tokens_per_call, 16000"] {
        assert!(refusal.contains(part), "{refusal}");
    }
    refused(&config("llm", "tokens_per_call = 17690", 50), &[]);
    loaded(&config("llm", "tokens_per_call = 17691", 50), &[]);
    loaded(&config("llm", "", 40), &[]);
    loaded(&config("extractive", "", 50), &[]);
    refused(&config("llm", "max_tokens = 15000", 5), &[]);
}

#[test]
fn invalid_settings_are_reported() {
    each_refused(&[
        ("[tickets.guard]\nblock = true", "tickets.guard.url: is not set, so no guard is asked"),
        (
            "[tickets]\nhead = 't11'\n[embedding.heads]\nt1 = 'a.safetensors'\nt2 = 'b.safetensors'",
            "tickets.head: `t11` is not one of embedding.heads, which are t1, t2",
        ),
        (
            "[tickets.knowledge]\nurl = 'mysql://u:p@h/n'",
            "tickets.knowledge.url: must be sqlite:PATH or postgres:",
        ),
        (
            "[tickets.guard]\nurl = 'localhost:8081'",
            "tickets.guard.url: must be a URL that begins with https:// or http://",
        ),
        (
            "[tickets.answer]\noffice_contacts = ['@']",
            "tickets.answer.office_contacts.0: must be like info@town.example",
        ),
        (
            "[tickets.answer]\noffice_places = ['Ulm', '2026']",
            "tickets.answer.office_places.1: must be the name of a town or an office, not `2026`",
        ),
    ]);
    for contact in ["@town.example", "info@town.example", "+49 89 233", "115", "Rathausplatz 1"] {
        loaded(&format!("[tickets.answer]\noffice_contacts = ['{contact}']"), &[]);
    }
    loaded("[tickets.answer]\noffice_places = ['Ulm', 'Landratsamt']", &[]);
}
