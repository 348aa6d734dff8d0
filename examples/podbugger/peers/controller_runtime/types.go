package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// +kubebuilder:object:generate=true
// +groupName=debug.jicki.cn
// +versionName=v1alpha1

var groupVersion = schema.GroupVersion{Group: "debug.jicki.cn", Version: "v1alpha1"}

var schemeBuilder = &scheme.Builder{GroupVersion: groupVersion}

func init() {
	schemeBuilder.Register(&PodBuggerTool{}, &PodBuggerToolList{})
}

// PodBuggerToolSpec says which pods get which image.
type PodBuggerToolSpec struct {
	Selector metav1.LabelSelector `json:"selector"`
	// +kubebuilder:validation:MinLength=1
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"`
}

// PodBuggerToolStatus says how far it is.
type PodBuggerToolStatus struct {
	MatchingPods int `json:"matchingPods"`
	EquippedPods int `json:"equippedPods"`
}

// PodBuggerTool maps labels to a debugging image.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type PodBuggerTool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PodBuggerToolSpec   `json:"spec"`
	Status PodBuggerToolStatus `json:"status,omitempty"`
}

// PodBuggerToolList is a list of them.
// +kubebuilder:object:root=true
type PodBuggerToolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodBuggerTool `json:"items"`
}
