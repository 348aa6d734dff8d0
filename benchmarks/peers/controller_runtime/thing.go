package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Thing wants a ConfigMap with a text, and says in its status which text that has.
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ThingSpec   `json:"spec"`
	Status            ThingStatus `json:"status,omitempty"`
}

type ThingSpec struct {
	Text string `json:"text"`
}

type ThingStatus struct {
	Text string `json:"text,omitempty"`
}

type ThingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Thing `json:"items"`
}

func (thing *Thing) DeepCopy() *Thing {
	copied := *thing
	thing.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func (thing *Thing) DeepCopyObject() runtime.Object {
	return thing.DeepCopy()
}

func (list *ThingList) DeepCopyObject() runtime.Object {
	copied := *list
	list.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]Thing, len(list.Items))
	for index := range list.Items {
		copied.Items[index] = *list.Items[index].DeepCopy()
	}
	return &copied
}

func addThings(scheme *runtime.Scheme) {
	version := schema.GroupVersion{Group: "loop.example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &Thing{}, &ThingList{})
	metav1.AddToGroupVersion(scheme, version)
}
