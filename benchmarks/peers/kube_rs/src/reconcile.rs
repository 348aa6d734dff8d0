use crate::{tell, Outcome};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

const WORKERS: u16 = 8;

/// A Thing wants a ConfigMap with a text, and says in its status which text that has.
#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "loop.example.com",
    version = "v1",
    kind = "Thing",
    namespaced,
    status = "ThingStatus"
)]
pub struct ThingSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct ThingStatus {
    text: Option<String>,
}

struct Work {
    client: Client,
    wanted: usize,
    begun: Once,
    done: Mutex<HashSet<String>>,
}

/// Keep a ConfigMap for each Thing; tell when it began and when it is through with so many Things.
pub async fn run(client: Client, wanted: usize) -> Outcome {
    let work = Work {
        client: client.clone(),
        wanted,
        begun: Once::new(),
        done: Mutex::default(),
    };
    controller(client)
        .run(reconcile, on_error, Arc::new(work))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

/// Only tell that a Thing was seen, and with which text.
pub async fn mark(client: Client) -> Outcome {
    controller(client)
        .run(
            |thing, _| async move {
                tell("entered", &thing.spec.text);
                Ok::<_, kube::Error>(Action::await_change())
            },
            on_error,
            Arc::new(()),
        )
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

fn controller(client: Client) -> Controller<Thing> {
    let (things, maps) = (
        Api::<Thing>::all(client.clone()),
        Api::<ConfigMap>::all(client),
    );
    Controller::new(things, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .with_config(Config::default().concurrency(WORKERS))
        .shutdown_on_signal()
}

fn on_error<C>(_: Arc<Thing>, error: &kube::Error, _: Arc<C>) -> Action {
    eprintln!("{error}");
    Action::requeue(Duration::from_secs(1))
}

async fn reconcile(thing: Arc<Thing>, work: Arc<Work>) -> Result<Action, kube::Error> {
    work.begun.call_once(|| tell("first", ""));
    let (name, namespace) = (thing.name_any(), thing.namespace().unwrap_or_default());
    let ours = PatchParams::apply("loop").force();
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(namespace.clone()),
            owner_references: thing.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("text".into(), thing.spec.text.clone())])),
        ..ConfigMap::default()
    };
    Api::<ConfigMap>::namespaced(work.client.clone(), &namespace)
        .patch(&name, &ours, &Patch::Apply(&map))
        .await?;
    let said = thing
        .status
        .as_ref()
        .and_then(|status| status.text.as_ref());
    if said != Some(&thing.spec.text) {
        let status = json!({
            "apiVersion": "loop.example.com/v1",
            "kind": "Thing",
            "status": {"text": thing.spec.text},
        });
        Api::<Thing>::namespaced(work.client.clone(), &namespace)
            .patch_status(&name, &ours, &Patch::Apply(&status))
            .await?;
    }
    let mut done = work.done.lock().expect("no one panics with it");
    if done.insert(name) && done.len() == work.wanted {
        tell("all", "");
    }
    Ok(Action::await_change())
}
