// Command go-decode does with the bytes of a watch what controller-runtime does: client-go's own stream
// decoder into typed or unstructured objects, into a map, past a predicate on the generation.
//
//	go-decode feed typed|protobuf|unstructured KIND FIRST ROUNDS LINES   time a file of events, LINES a round
//	go-decode hold typed|unstructured KIND                               keep the objects of the events on stdin
//
// It prints one JSON object. "protobuf" takes the same objects in the form that controller-runtime asks for
// where it can (built-in kinds); encoding them is not timed.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

var versions = map[string]schema.GroupVersion{
	"Widget": groupVersion, "Deployment": {Group: "apps", Version: "v1"}, "Pod": {Version: "v1"}, "ConfigMap": {Version: "v1"},
}

func main() {
	if len(os.Args) < 4 {
		fail(errors.New("usage: go-decode feed|hold typed|protobuf|unstructured KIND ..."))
	}
	store := &store{objects: map[string]k8sruntime.Object{}, children: os.Args[3] == "ConfigMap"}
	source, err := newSource(os.Args[2], os.Args[3])
	if err != nil {
		fail(err)
	}
	var result map[string]any
	switch {
	case os.Args[1] == "feed" && len(os.Args) == 7:
		result, err = feed(store, source, os.Args[4:])
	case os.Args[1] == "hold":
		result, err = hold(store, source)
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go-decode:", err)
	os.Exit(1)
}

// source opens watches in one media type.
type source struct {
	mode       string
	version    schema.GroupVersion
	codecs     serializer.CodecFactory
	negotiator k8sruntime.ClientNegotiator
}

func newSource(mode, kind string) (*source, error) {
	scheme := k8sruntime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addWidgets(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	var negotiated k8sruntime.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: codecs}
	if mode == "unstructured" {
		negotiated = dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	}
	version, known := versions[kind]
	if !known {
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	return &source{mode, version, codecs, k8sruntime.NewClientNegotiator(negotiated, version)}, nil
}

func (s *source) mediaType() string {
	if s.mode == "protobuf" {
		return k8sruntime.ContentTypeProtobuf
	}
	return k8sruntime.ContentTypeJSON
}

// watch decodes as rest.Request does for a response body.
func (s *source) watch(body io.Reader) (*restwatch.Decoder, error) {
	decoder, stream, framer, err := s.negotiator.StreamDecoder(s.mediaType(), nil)
	if err != nil {
		return nil, err
	}
	frames := framer.NewFrameReader(io.NopCloser(body))
	return restwatch.NewDecoder(streaming.NewDecoder(frames, stream), decoder), nil
}

// prepared gives a JSON stream in the source's media type.
func (s *source) prepared(text []byte) ([]byte, error) {
	if s.mode != "protobuf" {
		return text, nil
	}
	plain := *s
	plain.mode = "typed"
	decoder, err := plain.watch(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	info, found := k8sruntime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), s.mediaType())
	if !found || info.StreamSerializer == nil {
		return nil, errors.New("no protobuf serializer")
	}
	var out bytes.Buffer
	encoder := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&out), info.StreamSerializer.Serializer)
	objects := s.codecs.EncoderForVersion(info.Serializer, s.version)
	for {
		kind, object, err := decoder.Decode()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		var raw bytes.Buffer
		if err := objects.Encode(object, &raw); err != nil {
			return nil, err
		}
		event := &metav1.WatchEvent{Type: string(kind), Object: k8sruntime.RawExtension{Raw: raw.Bytes()}}
		if err := encoder.Encode(event); err != nil {
			return nil, err
		}
	}
}

type store struct {
	objects  map[string]k8sruntime.Object
	children bool
}

// handle takes an event and says whether a key is to be reconciled.
func (s *store) handle(kind watch.EventType, object k8sruntime.Object) (bool, error) {
	if kind == watch.Bookmark {
		return false, nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false, err
	}
	key := accessor.GetNamespace() + "/" + accessor.GetName()
	old, known := s.objects[key]
	if kind == watch.Deleted {
		delete(s.objects, key)
		return known, nil
	}
	s.objects[key] = object
	if s.children {
		owner := metav1.GetControllerOf(accessor)
		return owner != nil && owner.Kind == "Widget", nil
	}
	if !known {
		return true, nil
	}
	before, err := meta.Accessor(old)
	return err == nil && before.GetGeneration() != accessor.GetGeneration(), err
}

func (s *store) drain(decoder *restwatch.Decoder) (keys int, err error) {
	for {
		kind, object, err := decoder.Decode()
		if errors.Is(err, io.EOF) {
			return keys, nil
		} else if err != nil {
			return keys, err
		}
		matters, err := s.handle(kind, object)
		if err != nil {
			return keys, err
		}
		if matters {
			keys++
		}
	}
}

func (s *store) read(source *source, text []byte) (keys int, cpu, wall int64, err error) {
	text, err = source.prepared(text)
	if err != nil {
		return 0, 0, 0, err
	}
	decoder, err := source.watch(bytes.NewReader(text))
	if err != nil {
		return 0, 0, 0, err
	}
	runtime.GC()
	before, began := cpuTime(), time.Now()
	keys, err = s.drain(decoder)
	return keys, cpuTime() - before, time.Since(began).Nanoseconds(), err
}

func feed(s *store, source *source, arguments []string) (map[string]any, error) {
	first, err := os.ReadFile(arguments[0])
	if err != nil {
		return nil, err
	}
	if _, _, _, err := s.read(source, first); err != nil {
		return nil, err
	}
	rounds, err := os.ReadFile(arguments[1])
	if err != nil {
		return nil, err
	}
	lines, err := strconv.Atoi(arguments[2])
	if err != nil {
		return nil, err
	}
	var cpu, wall []int64
	keys := 0
	for len(rounds) > 0 {
		end := 0
		for range lines {
			end += bytes.IndexByte(rounds[end:], '\n') + 1
		}
		found, spent, took, err := s.read(source, rounds[:end])
		if err != nil {
			return nil, err
		}
		cpu, wall, keys, rounds = append(cpu, spent), append(wall, took), keys+found, rounds[end:]
	}
	return map[string]any{"cpu_ns": cpu, "wall_ns": wall, "keys": keys, "objects": len(s.objects)}, nil
}

func hold(s *store, source *source) (map[string]any, error) {
	runtime.GC()
	debug.FreeOSMemory()
	before := resident("VmRSS:")
	decoder, err := source.watch(bufio.NewReaderSize(os.Stdin, 64<<10))
	if err != nil {
		return nil, err
	}
	if _, err := s.drain(decoder); err != nil {
		return nil, err
	}
	standing, peak := resident("VmRSS:"), resident("VmHWM:")
	debug.FreeOSMemory()
	after := resident("VmRSS:")
	return map[string]any{"before": before, "after": after, "standing": standing, "peak": peak, "objects": len(s.objects)}, nil
}

// cpuTime is the CPU time of all threads, the garbage collector's included, in nanoseconds.
func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func resident(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes * 1024
		}
	}
	return 0
}
