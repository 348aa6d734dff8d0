// A contestant of the loop's benchmarks, on controller-runtime.
//
//	controller-runtime informer PODS UPDATES
//	controller-runtime reconcile THINGS
//	controller-runtime latency
//
// The server is in $KUBECONFIG. It tells what it does as lines of JSON, with the monotonic clock and its own CPU time in
// nanoseconds, and ends when it is terminated.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	// As the scaffold of kubebuilder has it.
	logf.SetLogger(zap.New())
	manager, err := newManager()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), manager, os.Args[1:])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func newManager() (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addThings(scheme)
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	// No limit of its own to the requests it sends: the server is what is waited for.
	config.QPS = -1
	return ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
}

func run(ctx context.Context, manager ctrl.Manager, words []string) error {
	switch {
	case len(words) == 3 && words[0] == "informer":
		return watchPods(ctx, manager, number(words[2]))
	case len(words) == 2 && words[0] == "reconcile":
		return runController(ctx, manager, &reconciler{Client: manager.GetClient(), scheme: manager.GetScheme(), wanted: number(words[1])})
	case len(words) == 1 && words[0] == "latency":
		return runController(ctx, manager, &marker{Client: manager.GetClient()})
	}
	return fmt.Errorf("do what? %v", words)
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func tell(what string) {
	tellText(what, "")
}

func tellText(what, text string) {
	at, cpu := clock(unix.CLOCK_MONOTONIC), clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	fmt.Printf("{\"what\":%q,\"at\":%d,\"cpu\":%d,\"text\":%q}\n", what, at, cpu, text)
}

func clock(id int32) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		log.Fatal(err)
	}
	return now.Nano()
}
