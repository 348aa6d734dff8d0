// The operator counts the keys of ConfigMaps that have the label counted=yes, as the leader of its replicas. Its
// metrics are for those who may get /metrics by the API server's word.
package main

import (
	"context"
	"flag"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The namespace of markers is a stand-in for the one that the operator is installed in.

// +kubebuilder:rbac:groups="",namespace=system,resources=configmaps,verbs=list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,namespace=system,resources=events,verbs=create;patch
// +kubebuilder:rbac:roleName=election,groups=coordination.k8s.io,namespace=system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:roleName=election,groups="",namespace=system,resources=events,verbs=create;patch
// +kubebuilder:rbac:roleName=metrics,groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:roleName=metrics,groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

const (
	annotation = "conformance.example.com/keys"
	lease      = 4 * time.Second
	renewal    = 3 * time.Second
	retry      = 500 * time.Millisecond
)

type counter struct {
	client.Client
	recorder events.EventRecorder
}

func (c *counter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var found corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	count := strconv.Itoa(len(found.Data))
	if found.Labels["counted"] != "yes" || found.Annotations[annotation] == count {
		return ctrl.Result{}, nil
	}
	before := found.DeepCopy()
	if found.Annotations == nil {
		found.Annotations = map[string]string{}
	}
	found.Annotations[annotation] = count
	if err := c.Patch(ctx, &found, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, err
	}
	c.recorder.Eventf(&found, nil, corev1.EventTypeNormal, "Counted", "Count", "It has %s keys.", count)
	return ctrl.Result{}, nil
}

func main() {
	namespace := flag.String("namespace", "", "the namespace of the ConfigMaps and the Lease")
	metrics := flag.String("metrics", "0", "where to serve metrics")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*namespace, *metrics); err != nil {
		ctrl.Log.Error(err, "ended")
		os.Exit(1)
	}
}

func run(namespace, metrics string) error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: server.Options{
			BindAddress: metrics, SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		LeaderElection:                true,
		LeaderElectionID:              "counter",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(lease),
		RenewDeadline:                 new(renewal),
		RetryPeriod:                   new(retry),
	})
	if err != nil {
		return err
	}
	counting := &counter{Client: manager.GetClient(), recorder: manager.GetEventRecorder("counter")}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(counting); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
