// Least-loaded is a scheduler in Go. It picks the endpoint with the fewest requests: those in
// flight by the picker's events, and those waiting by the server's metrics.
//
//	go run . unix:/run/pointsman/least-loaded.sock
//
// Package schedulerv1 is generated from scheduler.proto by protoc-gen-go and protoc-gen-go-grpc.
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pointsman.dev/examples/scheduler/schedulerv1"
)

const (
	version = 1
	best    = 4
)

type server struct {
	schedulerv1.UnimplementedSchedulerServer
}

// Run serves one stream of one picker. The state lasts as long as the stream.
func (server) Run(stream schedulerv1.Scheduler_RunServer) error {
	state := newState()
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := state.handle(message)
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

type state struct {
	waiting  map[uint32]float64
	inFlight map[uint32]int
	slotOf   map[string]uint32
}

func newState() *state {
	return &state{waiting: map[uint32]float64{}, inFlight: map[uint32]int{}, slotOf: map[string]uint32{}}
}

func (s *state) handle(message *schedulerv1.PickerMessage) (*schedulerv1.SchedulerMessage, error) {
	if hello := message.GetHello(); hello != nil {
		if hello.GetVersion() != version {
			return nil, status.Errorf(codes.FailedPrecondition, "this is version %d", version)
		}
		welcome := &schedulerv1.Welcome{
			Version: version, Name: "least-loaded-go", WantsEndpoints: true, WantsEvents: true,
		}
		return &schedulerv1.SchedulerMessage{Welcome: welcome}, nil
	}
	for _, slot := range message.GetRemoved() {
		delete(s.waiting, slot)
		delete(s.inFlight, slot)
	}
	for _, endpoint := range message.GetEndpoints() {
		s.waiting[endpoint.GetSlot()] = endpoint.GetWaitingRequests()
	}
	for _, event := range message.GetEvents() {
		s.record(event)
	}
	if len(message.GetRequests()) == 0 {
		return nil, nil
	}
	return &schedulerv1.SchedulerMessage{Decisions: s.decide(message.GetRequests())}, nil
}

func (s *state) record(event *schedulerv1.Event) {
	if routed := event.GetRouted(); routed != nil {
		s.slotOf[event.GetId()] = routed.GetSlot()
		s.inFlight[routed.GetSlot()]++
	}
	if slot, known := s.slotOf[event.GetId()]; known && event.GetDone() != nil {
		delete(s.slotOf, event.GetId())
		s.inFlight[slot] = max(0, s.inFlight[slot]-1)
	}
}

func (s *state) decide(requests []*schedulerv1.Request) []*schedulerv1.Decision {
	// Spreads the requests of a message over endpoints: none of them has been routed yet.
	assigned := map[uint32]int{}
	decisions := make([]*schedulerv1.Decision, 0, len(requests))
	for _, request := range requests {
		targets := make([]*schedulerv1.Target, 0, len(s.waiting))
		offer := func(slot uint32) {
			load := s.waiting[slot] + float64(s.inFlight[slot]+assigned[slot])
			targets = append(targets, &schedulerv1.Target{Slot: slot, Score: -load})
		}
		for _, slot := range request.GetCandidates() {
			offer(slot)
		}
		if len(request.GetCandidates()) == 0 {
			for slot := range s.waiting {
				offer(slot)
			}
		}
		slices.SortFunc(targets, func(a, b *schedulerv1.Target) int { return cmp.Compare(b.Score, a.Score) })
		targets = targets[:min(best, len(targets))]
		if len(targets) > 0 {
			assigned[targets[0].GetSlot()]++
		}
		decisions = append(decisions, &schedulerv1.Decision{Id: request.GetId(), Targets: targets})
	}
	return decisions
}

func main() {
	address := "127.0.0.1:9100"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	network, at := "tcp", address
	if path, isSocket := strings.CutPrefix(address, "unix:"); isSocket {
		network, at = "unix", path
		// Removes the socket of an earlier run.
		_ = os.Remove(path)
	}
	listener, err := net.Listen(network, at)
	if err != nil {
		log.Fatal(err)
	}
	scheduler := grpc.NewServer()
	schedulerv1.RegisterSchedulerServer(scheduler, server{})
	fmt.Printf("listening on %s\n", address)
	log.Fatal(scheduler.Serve(listener))
}
