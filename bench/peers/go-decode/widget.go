package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

type widgetSpec struct {
	Replicas int32             `json:"replicas"`
	Image    string            `json:"image"`
	Config   map[string]string `json:"config,omitempty"`
}

type widgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Ready              bool               `json:"ready,omitempty"`
	Heartbeat          int64              `json:"heartbeat,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Widget is the benchmark's custom resource.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   widgetSpec   `json:"spec"`
	Status widgetStatus `json:"status,omitempty"`
}

// DeepCopyObject is asked for by the interface; nothing here copies.
func (w *Widget) DeepCopyObject() runtime.Object {
	out := *w
	return &out
}

func addWidgets(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Widget{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
