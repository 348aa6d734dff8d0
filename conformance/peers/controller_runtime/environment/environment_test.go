// Package environment uses envtest as the tests of operators in Go do. KUBEBUILDER_ASSETS names the folder of the
// server's programs, DEFINITIONS one with CRDs.
package environment

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	chaos "sigs.k8s.io/controller-runtime/examples/crd/pkg"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	environment *envtest.Environment
	config      *rest.Config
)

func TestMain(m *testing.M) {
	log.SetLogger(zap.New())
	must(chaos.AddToScheme(scheme.Scheme))
	must(apiextensionsv1.AddToScheme(scheme.Scheme))
	environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{os.Getenv("DEFINITIONS")},
		ErrorIfCRDPathMissing: true,
	}
	var err error
	config, err = environment.Start()
	must(err)
	code := m.Run()
	certificates := environment.ControlPlane.APIServer.CertDir
	must(environment.Stop())
	if _, err := os.Stat(certificates); !os.IsNotExist(err) {
		must(fmt.Errorf("stopped, but %s is there", certificates))
	}
	os.Exit(code)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func clientFor(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	made, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	check(t, err)
	return made
}

func newNamespace(t *testing.T, admin client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "environment-"}}
	check(t, admin.Create(t.Context(), namespace))
	return namespace.Name
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"a": "1"}}
}

func chaosPod(namespace, name string) *chaos.ChaosPod {
	pod := &chaos.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	pod.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "busybox"}}
	pod.Spec.NextStop = metav1.Now()
	pod.Status.LastRun = metav1.Now()
	return pod
}

func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestObjectsAreCreatedReadAndWatched(t *testing.T) {
	admin := clientFor(t, config)
	namespace := newNamespace(t, admin)
	watching, err := admin.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace))
	check(t, err)
	defer watching.Stop()

	made := configMap(namespace, "made")
	check(t, admin.Create(t.Context(), made))
	var found corev1.ConfigMap
	check(t, admin.Get(t.Context(), client.ObjectKeyFromObject(made), &found))
	found.Data["b"] = "2"
	check(t, admin.Update(t.Context(), &found))
	made.Data["c"] = "3"
	if err := admin.Update(t.Context(), made); !apierrors.IsConflict(err) {
		t.Errorf("an update of an older version: %v", err)
	}
	check(t, admin.Delete(t.Context(), &found))

	for _, wanted := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		select {
		case event := <-watching.ResultChan():
			if event.Type != wanted || event.Object.(client.Object).GetName() != "made" {
				t.Fatalf("%s came instead of %s: %v", event.Type, wanted, event.Object)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s did not come", wanted)
		}
	}
}

func TestDefinitionsAreInstalledAndEnforced(t *testing.T) {
	admin := clientFor(t, config)
	namespace := newNamespace(t, admin)
	if len(environment.CRDs) != 1 {
		t.Fatalf("%d definitions were installed", len(environment.CRDs))
	}

	check(t, admin.Create(t.Context(), chaosPod(namespace, "good")))
	bad := chaosPod(namespace, "bad")
	bad.Spec.Template.Spec.Containers = nil

	err := admin.Create(t.Context(), bad)

	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.template.spec.containers: Required value") {
		t.Fatalf("an invalid object: %v", err)
	}
}

func TestUsersMayDoWhatTheirRolesSay(t *testing.T) {
	admin := clientFor(t, config)
	namespace := newNamespace(t, admin)
	ann, err := environment.AddUser(envtest.User{Name: "ann", Groups: []string{"readers"}}, nil)
	check(t, err)
	reader := clientFor(t, ann.Config())
	if err := reader.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
		t.Fatalf("listed without a right: %v", err)
	}

	check(t, admin.Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}))
	check(t, admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}))

	eventually(t, "the right is given", func(ctx context.Context) (bool, error) {
		err := reader.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return true, err
	})
	err = reader.Create(t.Context(), configMap(namespace, "made"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "ann" cannot create resource "configmaps"`) {
		t.Errorf("created without a right: %v", err)
	}
}

func TestKubectlRunsAsAUser(t *testing.T) {
	bob, err := environment.AddUser(envtest.User{Name: "bob", Groups: []string{"system:masters"}}, nil)
	check(t, err)
	kubectl, err := bob.Kubectl()
	check(t, err)

	out, errors, err := kubectl.Run("auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
	told, _ := io.ReadAll(out)
	complaint, _ := io.ReadAll(errors)

	if err != nil || string(told) != `bob ["system:masters","system:authenticated"]` {
		t.Fatalf("%q, %q, %v", told, complaint, err)
	}
}

func TestAControllerReconcilesCustomResources(t *testing.T) {
	admin := clientFor(t, config)
	namespace := newNamespace(t, admin)
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	check(t, err)
	labelling := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var found chaos.ChaosPod
		if err := manager.GetClient().Get(ctx, request.NamespacedName, &found); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		before := found.DeepCopy()
		found.Labels = map[string]string{"seen": "yes"}
		return reconcile.Result{}, manager.GetClient().Patch(ctx, &found, client.MergeFrom(before))
	})
	check(t, ctrl.NewControllerManagedBy(manager).For(&chaos.ChaosPod{}).Complete(labelling))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()

	made := chaosPod(namespace, "made")
	check(t, admin.Create(t.Context(), made))

	eventually(t, "the object is labelled", func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(made), made)
		return made.Labels["seen"] == "yes", err
	})
	cancel()
	check(t, <-ended)
}

func TestAnotherEnvironmentHasObjectsOfItsOwn(t *testing.T) {
	admin := clientFor(t, config)
	check(t, admin.Create(t.Context(), configMap("default", "first")))
	other := &envtest.Environment{}
	elsewhere, err := other.Start()
	check(t, err)

	var found corev1.ConfigMap
	err = clientFor(t, elsewhere).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "first"}, &found)

	if !apierrors.IsNotFound(err) {
		t.Errorf("an object of another environment: %v", err)
	}
	check(t, other.Stop())
	check(t, admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "first"}, &found))
}
