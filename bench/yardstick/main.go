// A bare ext_proc server shows what gRPC and the protocol's messages cost in Go when nothing is
// decided. It withholds the answer to the request headers until the end of the body, names one fixed
// destination, and sends every byte back. With -efficient it only acknowledges the bytes, as Envoy
// keeps them; with -partial it names the destination in the answer to the one message that has them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// With -efficient the headers are answered after so many bytes, as Envoy buffers no whole body.
const earlyPickBytes = 128 << 10

// Some proxies limit a chunk to 64 KiB.
const chunkBytesMax = 62000

type echo struct {
	extproc.UnimplementedExternalProcessorServer
	destination string
	efficient   bool
	partial     bool
}

func (e *echo) Process(stream extproc.ExternalProcessor_ProcessServer) error {
	var body []byte
	var seen, waiting int
	picked := false
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) || stream.Context().Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		var answers []*extproc.ProcessingResponse
		switch message := request.Request.(type) {
		case *extproc.ProcessingRequest_RequestHeaders:
			if message.RequestHeaders.EndOfStream {
				picked = true
				answers = append(answers, e.picked())
			} else if e.partial {
				answers = append(answers, &extproc.ProcessingResponse{
					Response: &extproc.ProcessingResponse_RequestHeaders{RequestHeaders: &extproc.HeadersResponse{}},
				})
			}
		case *extproc.ProcessingRequest_RequestBody:
			if e.partial {
				answers = append(answers, &extproc.ProcessingResponse{
					Response: &extproc.ProcessingResponse_RequestBody{
						RequestBody: &extproc.BodyResponse{Response: e.destined()},
					},
				})
				break
			}
			if e.efficient {
				seen += len(message.RequestBody.Body)
				waiting++
				if !picked && (seen >= earlyPickBytes || message.RequestBody.EndOfStream) {
					picked = true
					answers = append(answers, e.picked())
				}
				for ; picked && waiting > 0; waiting-- {
					answers = append(answers, acknowledged())
				}
				break
			}
			body = append(body, message.RequestBody.Body...)
			if message.RequestBody.EndOfStream {
				answers = append(answers, e.picked())
				for _, piece := range pieces(body, true) {
					answers = append(answers, &extproc.ProcessingResponse{
						Response: &extproc.ProcessingResponse_RequestBody{RequestBody: piece},
					})
				}
				body = nil
			}
		case *extproc.ProcessingRequest_RequestTrailers:
			answers = append(answers, &extproc.ProcessingResponse{
				Response: &extproc.ProcessingResponse_RequestTrailers{RequestTrailers: &extproc.TrailersResponse{}},
			})
		case *extproc.ProcessingRequest_ResponseHeaders:
			answers = append(answers, &extproc.ProcessingResponse{
				Response: &extproc.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extproc.HeadersResponse{}},
			})
		case *extproc.ProcessingRequest_ResponseBody:
			for _, piece := range pieces(message.ResponseBody.Body, message.ResponseBody.EndOfStream) {
				answers = append(answers, &extproc.ProcessingResponse{
					Response: &extproc.ProcessingResponse_ResponseBody{ResponseBody: piece},
				})
			}
		case *extproc.ProcessingRequest_ResponseTrailers:
			answers = append(answers, &extproc.ProcessingResponse{
				Response: &extproc.ProcessingResponse_ResponseTrailers{ResponseTrailers: &extproc.TrailersResponse{}},
			})
		}
		for _, answer := range answers {
			if err := stream.Send(answer); err != nil {
				return err
			}
		}
	}
}

func (e *echo) picked() *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{
		Response: &extproc.ProcessingResponse_RequestHeaders{
			RequestHeaders: &extproc.HeadersResponse{Response: e.destined()},
		},
	}
}

func (e *echo) destined() *extproc.CommonResponse {
	set := &core.HeaderValueOption{
		Header:       &core.HeaderValue{Key: "x-gateway-destination-endpoint", RawValue: []byte(e.destination)},
		AppendAction: core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
	return &extproc.CommonResponse{
		ClearRouteCache: true,
		HeaderMutation:  &extproc.HeaderMutation{SetHeaders: []*core.HeaderValueOption{set}},
	}
}

func acknowledged() *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{
		Response: &extproc.ProcessingResponse_RequestBody{RequestBody: &extproc.BodyResponse{}},
	}
}

func pieces(body []byte, last bool) []*extproc.BodyResponse {
	var all []*extproc.BodyResponse
	for {
		n := min(len(body), chunkBytesMax)
		piece := &extproc.StreamedBodyResponse{Body: body[:n], EndOfStream: last && n == len(body)}
		all = append(all, &extproc.BodyResponse{Response: &extproc.CommonResponse{
			BodyMutation: &extproc.BodyMutation{
				Mutation: &extproc.BodyMutation_StreamedResponse{StreamedResponse: piece},
			},
		}})
		body = body[n:]
		if len(body) == 0 {
			return all
		}
	}
}

func main() {
	address := flag.String("listen", "127.0.0.1:0", "listen on this address")
	destination := flag.String("destination", "", "host:port that every request is sent to")
	efficient := flag.Bool("efficient", false, "acknowledge bodies and do not send them back")
	partial := flag.Bool("partial", false, "expect the beginning of each body in one message")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	extproc.RegisterExternalProcessorServer(server, &echo{destination: *destination, efficient: *efficient, partial: *partial})
	alive := health.NewServer()
	alive.SetServingStatus("envoy.service.ext_proc.v3.ExternalProcessor", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, alive)
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
