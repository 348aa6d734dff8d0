use crate::{tell, Outcome};
use futures::{pin_mut, TryStreamExt};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::runtime::reflector::{reflector, store};
use kube::runtime::watcher::{self, watcher, Event};
use kube::{Api, Client, ResourceExt};

/// Keep all pods in a store; tell when it has them and when it saw so many updates.
pub async fn watch_pods(client: Client, updates: usize) -> Outcome {
    // The first connection is not what is asked.
    Api::<Namespace>::all(client.clone()).get("default").await?;
    tell("starting", "");
    let (_reader, writer) = store::<Pod>();
    let events = reflector(
        writer,
        watcher(Api::all(client), watcher::Config::default()),
    );
    pin_mut!(events);
    let mut seen = 0;
    while let Some(event) = events.try_next().await? {
        match event {
            Event::InitDone => tell("synced", ""),
            Event::Apply(pod) => {
                if !pod.name_any().is_empty() {
                    seen += 1;
                }
                if seen == updates {
                    tell("updated", "");
                }
            }
            _ => (),
        }
    }
    Ok(())
}
