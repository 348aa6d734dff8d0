// Package roles has markers only: what each of controller-runtime's examples does, and nothing more. controller-gen
// makes a ClusterRole of each name from them.
package roles

// +kubebuilder:rbac:roleName=builtins,groups=apps,resources=replicasets,verbs=list;watch;update
// +kubebuilder:rbac:roleName=builtins,groups="",resources=pods,verbs=list;watch

// +kubebuilder:rbac:roleName=builtins-reader,groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:roleName=builtins-reader,groups="",resources=pods,verbs=list;watch

// +kubebuilder:rbac:roleName=crd,groups=chaosapps.metamagical.io,resources=chaospods,verbs=list;watch;update
// +kubebuilder:rbac:roleName=crd,groups="",resources=pods,verbs=list;watch;create;delete

// +kubebuilder:rbac:roleName=multiclustersync,groups="",resources=secrets,verbs=list;watch;create;update;delete

// +kubebuilder:rbac:roleName=priorityqueue,groups="",resources=configmaps,verbs=list;watch

// +kubebuilder:rbac:roleName=typed,groups=networking.k8s.io,resources=ingresses,verbs=list;watch

// +kubebuilder:rbac:roleName=scraper,urls=/metrics,verbs=get
