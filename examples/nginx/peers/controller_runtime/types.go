package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// +kubebuilder:object:generate=true
// +groupName=operator.example.com
// +versionName=v1alpha1

var groupVersion = schema.GroupVersion{Group: "operator.example.com", Version: "v1alpha1"}

var schemeBuilder = &scheme.Builder{GroupVersion: groupVersion}

func init() {
	schemeBuilder.Register(&NginxOperator{}, &NginxOperatorList{})
}

// NginxOperatorSpec is what is wanted.
type NginxOperatorSpec struct {
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas      int32   `json:"replicas"`
	ForceRedeploy *string `json:"forceRedeploy,omitempty"`
}

// NginxOperatorStatus is what is found.
type NginxOperatorStatus struct {
	ObservedGeneration int64  `json:"observedGeneration"`
	ReadyReplicas      int32  `json:"readyReplicas"`
	Image              string `json:"image"`
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NginxOperator is one nginx.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type NginxOperator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NginxOperatorSpec   `json:"spec"`
	Status NginxOperatorStatus `json:"status,omitempty"`
}

// NginxOperatorList is a list of them.
// +kubebuilder:object:root=true
type NginxOperatorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxOperator `json:"items"`
}
