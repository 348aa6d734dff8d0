package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const workers = 8

func runController(ctx context.Context, manager ctrl.Manager, reconciler reconcile.Reconciler) error {
	err := ctrl.NewControllerManagedBy(manager).
		For(&Thing{}).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconciler)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// reconciler keeps a ConfigMap for each Thing, and tells when it began and when it is through with so many Things.
type reconciler struct {
	client.Client
	scheme *runtime.Scheme
	wanted int
	begun  sync.Once
	lock   sync.Mutex
	done   map[types.NamespacedName]struct{}
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.begun.Do(func() { tell("first") })
	var thing Thing
	if err := r.Get(ctx, request.NamespacedName, &thing); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.keepConfigMap(ctx, &thing); err != nil {
		return ctrl.Result{}, err
	}
	if thing.Status.Text != thing.Spec.Text {
		thing.Status.Text = thing.Spec.Text
		if err := r.Status().Update(ctx, &thing); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.count(request.NamespacedName)
	return ctrl.Result{}, nil
}

func (r *reconciler) keepConfigMap(ctx context.Context, thing *Thing) error {
	var found corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKeyFromObject(thing), &found)
	if errors.IsNotFound(err) {
		wanted := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: thing.Name, Namespace: thing.Namespace},
			Data:       map[string]string{"text": thing.Spec.Text},
		}
		if err := ctrl.SetControllerReference(thing, wanted, r.scheme); err != nil {
			return err
		}
		return r.Create(ctx, wanted)
	}
	if err != nil || found.Data["text"] == thing.Spec.Text {
		return err
	}
	found.Data = map[string]string{"text": thing.Spec.Text}
	return r.Update(ctx, &found)
}

func (r *reconciler) count(name types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.done == nil {
		r.done = map[types.NamespacedName]struct{}{}
	}
	if _, counted := r.done[name]; counted {
		return
	}
	r.done[name] = struct{}{}
	if len(r.done) == r.wanted {
		tell("all")
	}
}

// marker only tells that it was called, and with which text.
type marker struct {
	client.Client
}

func (m *marker) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var thing Thing
	if err := m.Get(ctx, request.NamespacedName, &thing); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	tellText("entered", thing.Spec.Text)
	return ctrl.Result{}, nil
}
