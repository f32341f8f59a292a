import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.Arrays;

/** A server and a client of gRPC over Netty, with name resolution. */
final class Grpc {
  private static final int CALLS = 200;

  public static void main(String[] args) throws Exception {
    MethodDescriptor<byte[], byte[]> echo =
        MethodDescriptor.<byte[], byte[]>newBuilder(new Bytes(), new Bytes())
            .setType(MethodType.UNARY)
            .setFullMethodName("example/echo")
            .build();
    EventLoopGroup loops = new NioEventLoopGroup(2);
    Server server =
        NettyServerBuilder.forAddress(new InetSocketAddress(Traffic.server(), 0))
            .channelType(NioServerSocketChannel.class)
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
            .addService(
                ServerServiceDefinition.builder("example")
                    .addMethod(
                        echo,
                        ServerCalls.asyncUnaryCall(
                            (request, answer) -> {
                              answer.onNext(request);
                              answer.onCompleted();
                            }))
                    .build())
            .build()
            .start();
    ManagedChannel client =
        NettyChannelBuilder.forTarget(
                "dns:///" + Traffic.server().getHostAddress() + ":" + server.getPort())
            .channelType(NioSocketChannel.class)
            .eventLoopGroup(loops)
            .usePlaintext()
            .build();
    for (int i = 0; i < CALLS; i++) {
      byte[] request = Arrays.copyOf(Traffic.BODY, 1000 * i);
      byte[] answer =
          ClientCalls.blockingUnaryCall(
              client, echo, CallOptions.DEFAULT.withWaitForReady(), request);
      if (!Arrays.equals(request, answer)) {
        throw new AssertionError("other data has arrived");
      }
    }
    System.out.println(CALLS + " calls of up to " + 1000 * (CALLS - 1) + " bytes");
    Traffic.besides();
    client.shutdown();
    server.shutdown();
    server.awaitTermination();
    loops.shutdownGracefully().sync();
  }

  /** Bytes as they are. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] bytes) {
      return new ByteArrayInputStream(bytes);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
