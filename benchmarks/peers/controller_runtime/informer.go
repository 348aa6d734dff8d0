package main

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// watchPods keeps all pods in the manager's cache, and tells when it has them and when it saw so many updates.
func watchPods(ctx context.Context, mgr ctrl.Manager, updates int) error {
	var seen atomic.Int64
	watch := manager.RunnableFunc(func(ctx context.Context) error {
		// Discovery and the first connection are not what is asked.
		if err := mgr.GetAPIReader().Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
			return err
		}
		tell("starting")
		informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			return err
		}
		added, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, pod any) {
				if pod.(*corev1.Pod).Name != "" && seen.Add(1) == int64(updates) {
					tell("updated")
				}
			},
		})
		if err != nil {
			return err
		}
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, added.HasSynced) {
			tell("synced")
		}
		return nil
	})
	if err := mgr.Add(watch); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
