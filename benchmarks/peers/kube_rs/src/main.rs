//! A contestant of the loop's benchmarks, on kube-rs.
//!
//! `kube-rs informer PODS UPDATES`, `kube-rs reconcile THINGS` or `kube-rs latency`, with the server in `$KUBECONFIG`.
//! It tells what it does as lines of JSON, with the monotonic clock and its own CPU time in nanoseconds, and ends when
//! it is terminated.

mod informer;
mod reconcile;

use kube::Client;
use serde_json::json;
use std::error::Error;

pub type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

pub fn tell(what: &str, text: &str) {
    let (at, cpu) = (
        clock(libc::CLOCK_MONOTONIC),
        clock(libc::CLOCK_PROCESS_CPUTIME_ID),
    );
    println!(
        "{}",
        json!({"what": what, "at": at, "cpu": cpu, "text": text})
    );
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // It only fails for a clock that is not there, and these always are.
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[tokio::main]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let client = Client::try_default().await?;
    match words[..] {
        ["informer", _, updates] => informer::watch_pods(client, updates.parse()?).await,
        ["reconcile", things] => reconcile::run(client, things.parse()?).await,
        ["latency"] => reconcile::mark(client).await,
        _ => Err(format!("do what? {words:?}").into()),
    }
}
