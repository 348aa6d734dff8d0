//! Lists and watches with kube-rs, and tells on standard output what it saw: one line of JSON each.
//!
//! `kube-rs-peer NAMESPACE`, with the server in `$KUBECONFIG`; it ends when something fails, or is terminated.

use futures::{pin_mut, Stream, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, watcher, Event};
use kube::{Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "kube-rs.example.com",
    version = "v1",
    kind = "Gadget",
    namespaced,
    status = "GadgetStatus"
)]
struct GadgetSpec {
    size: i32,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct GadgetStatus {
    ready: bool,
}

fn tell(kind: &str, what: &str, name: String) {
    println!("{}", json!([kind, what, name]));
}

/// Tell what a watcher says, until it fails.
async fn follow<K: Resource>(
    kind: &str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
) -> Outcome {
    pin_mut!(events);
    while let Some(event) = events.try_next().await? {
        match event {
            Event::Init => tell(kind, "init", String::new()),
            Event::InitApply(found) => tell(kind, "init apply", found.name_any()),
            Event::InitDone => tell(kind, "init done", String::new()),
            Event::Apply(found) => tell(kind, "apply", found.name_any()),
            Event::Delete(found) => tell(kind, "delete", found.name_any()),
        }
    }
    Ok(())
}

async fn list<K>(kind: &str, api: &Api<K>) -> Outcome
where
    K: Clone + std::fmt::Debug + for<'de> Deserialize<'de> + Resource,
{
    for found in api.list(&ListParams::default().limit(1)).await? {
        tell(kind, "first page", found.name_any());
    }
    for found in api.list(&ListParams::default()).await? {
        tell(kind, "listed", found.name_any());
    }
    Ok(())
}

/// Apply the CRD that was derived from the type, and make an object of it with a status.
async fn define(client: &Client, gadgets: &Api<Gadget>) -> Outcome {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let ours = PatchParams::apply("kube-rs").force();
    crds.patch(Gadget::crd_name(), &ours, &Patch::Apply(Gadget::crd()))
        .await?;
    await_condition(crds, Gadget::crd_name(), conditions::is_crd_established()).await?;
    let spec = GadgetSpec {
        size: 1,
        tags: vec!["small".into()],
        note: None,
    };
    gadgets
        .create(&PostParams::default(), &Gadget::new("first", spec))
        .await?;
    let status = json!({"status": {"ready": true}});
    let told = gadgets
        .patch_status("first", &PatchParams::default(), &Patch::Merge(status))
        .await?;
    let is_ready = told.status.as_ref().is_some_and(|status| status.ready);
    tell(
        "gadget",
        if is_ready { "ready" } else { "not ready" },
        told.name_any(),
    );
    Ok(())
}

async fn follow_all(client: Client, namespace: &str) -> Outcome {
    let (maps, gadgets): (Api<ConfigMap>, Api<Gadget>) = (
        Api::namespaced(client.clone(), namespace),
        Api::namespaced(client.clone(), namespace),
    );
    define(&client, &gadgets).await?;
    list("config map", &maps).await?;
    list("gadget", &gadgets).await?;
    let paged = watcher::Config::default().page_size(1);
    let streamed = watcher::Config::default().streaming_lists();
    futures::try_join!(
        follow("config map", watcher(maps.clone(), paged)),
        follow("streamed config map", watcher(maps, streamed)),
        follow("gadget", watcher(gadgets, watcher::Config::default())),
    )?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let namespace = std::env::args()
        .nth(1)
        .ok_or("usage: kube-rs-peer NAMESPACE")?;
    let client = Client::try_default().await?;
    follow_all(client, &namespace).await
}
