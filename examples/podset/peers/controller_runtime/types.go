package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// +kubebuilder:object:generate=true
// +groupName=apps.jicki.cn
// +versionName=v1alpha1

var groupVersion = schema.GroupVersion{Group: "apps.jicki.cn", Version: "v1alpha1"}

var schemeBuilder = &scheme.Builder{GroupVersion: groupVersion}

func init() {
	schemeBuilder.Register(&PodSet{}, &PodSetList{})
}

// PodSetSpec is what is wanted.
type PodSetSpec struct {
	Size int32 `json:"size"`
}

// PodSetStatus is what is found.
type PodSetStatus struct {
	Nodes []string `json:"nodes"`
}

// PodSet is a number of equal pods.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type PodSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PodSetSpec   `json:"spec"`
	Status PodSetStatus `json:"status,omitempty"`
}

// PodSetList is a list of them.
// +kubebuilder:object:root=true
type PodSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodSet `json:"items"`
}
