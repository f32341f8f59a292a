package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.raw.ibv_ah_attr;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_conn_param;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.rdma_ud_param;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What Java makes of C's events, over a played librdmacm: also those that no software device
 * raises.
 */
class EventsTest {
  private final FakeRdmacm cm = new FakeRdmacm();
  private final EventChannel channel = cm.channel();
  private final ConnectionId connection = channel.createId(PortSpace.TCP);
  private final ConnectionId service = channel.createId(PortSpace.UDP);

  @AfterEach
  void close() {
    channel.close();
    cm.close();
  }

  @Test
  void aLackOfDescriptorsIsNotBlamedOnTheKernelModule() {
    String message = failedOpen(Errno.EMFILE).getMessage();
    assertFalse(message.contains("rdma_ucm"), message);
    assertTrue(failedOpen(Errno.ENOENT).getMessage().contains("rdma_ucm"));
  }

  /** Opens a channel of a librdmacm that cannot. */
  private static VerbsException failedOpen(int errno) {
    Librdmacm failing =
        (Librdmacm)
            Proxy.newProxyInstance(
                EventsTest.class.getClassLoader(),
                new Class<?>[] {Librdmacm.class},
                (proxy, method, arguments) -> {
                  throw new VerbsException(method.getName(), errno);
                });
    return assertThrows(VerbsException.class, () -> EventChannel.open(failing));
  }

  /** M12, M14 and M15 come from no software device. */
  @ParameterizedTest(name = "{0} is {1}, with status {2}")
  @CsvSource({
    "0, ADDR_RESOLVED, 0, false, the address is resolved",
    "1, ADDR_ERROR, -110, true, 'the address cannot be reached over an RDMA device: check the route"
        + " and that the host answers: Connection timed out (ETIMEDOUT)'",
    "1, ADDR_ERROR, -101, true, 'the address cannot be reached over an RDMA device: check the route"
        + " and that the host answers: Network is unreachable (ENETUNREACH); this host has no route"
        + " to that address from a network interface with an RDMA device: ''ip route get'' shows"
        + " the route, ''rdma link'' the interfaces'",
    "2, ROUTE_RESOLVED, 0, false, the route is resolved",
    "3, ROUTE_ERROR, -22, true, no route to the address: Invalid argument (EINVAL)",
    "6, CONNECT_ERROR, -1, true, 'the connection could not be established: a call of librdmacm"
        + " failed'",
    "7, UNREACHABLE, -110, true, the peer does not answer: Connection timed out (ETIMEDOUT)",
    "8, REJECTED, 28, true, rejected: the program of the peer rejected the request",
    "10, DISCONNECTED, 0, false, the connection has ended",
    "11, DEVICE_REMOVAL, 0, true, the device is being removed",
    "14, ADDR_CHANGE, 0, false, the network device's hardware address changed",
    "15, TIMEWAIT_EXIT, 0, false, the queue pair may be used again",
    "16, ADDRINFO_RESOLVED, 0, false, the name is resolved",
    "17, ADDRINFO_ERROR, 2, true, 'the name could not be resolved: No such file or directory"
        + " (ENOENT)'",
    "4711, UNKNOWN, 0, false, unknown to this library"
  })
  void eventHasItsTypeStatusAndDescription(
      int number, EventType type, int status, boolean failure, String description) {
    cm.event(number, status, connection.segment());
    ConnectionEvent event = channel.poll();
    assertEquals(type, event.type());
    assertEquals(number, event.code());
    assertEquals(status, event.status());
    assertEquals(failure, event.isFailure());
    assertEquals(description, event.description());
    assertEquals(connection, event.id());
    assertEquals(Optional.empty(), event.listener());
    assertEquals(Optional.empty(), event.datagram());
    assertEquals(0, event.privateData().length);
    assertTrue(
        new ConnectionException("testing", event).getMessage().contains(description),
        "the exception says it, too");
  }

  @ParameterizedTest(name = "{0} with status {1}: {2}")
  @CsvSource({
    "ADDR_ERROR, -110, true",
    "ROUTE_ERROR, -22, true",
    "UNREACHABLE, -110, true",
    "DISCONNECTED, 0, true",
    "DEVICE_REMOVAL, 0, true",
    "CONNECT_ERROR, -22, false",
    "REJECTED, 3, true", // no resources
    "REJECTED, 8, true", // no listener
    "REJECTED, 10, true", // stale connection
    "REJECTED, 28, false", // the program
    "REJECTED, 26, false", // MTU
    "REJECTED, -111, true", // iWARP: ECONNREFUSED
    "REJECTED, -104, false" // iWARP: the program
  })
  void failureIsTransientIfAnotherConnectionMaySucceed(EventType type, int status, boolean may) {
    cm.event(type.code(), status, connection.segment());
    assertEquals(may, new ConnectionException("testing", channel.poll()).isTransient());
  }

  @Test
  void requestHasAnIdentifierAndParameters() {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = cm.event(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0, asking);
    rdma_cm_event.listen_id(event, connection.segment());
    MemorySegment conn = rdma_cm_event.param.conn(rdma_cm_event.param(event));
    ConnectionParameters.DEFAULT
        .withResponderResources(4)
        .withInitiatorDepth(5)
        .withFlowControl()
        .withRetryCount(6)
        .withRnrRetryCount(7)
        .withSharedReceiveQueue()
        .withQueuePairNumber(0x123456)
        .writeTo(conn);
    MemorySegment data = cm.bytes((byte) 1, (byte) 2, (byte) 0);
    rdma_conn_param.private_data(conn, data);
    rdma_conn_param.private_data_len(conn, (byte) 3);

    ConnectionEvent request = channel.poll();
    assertEquals(asking.address(), request.id().segment().address());
    assertEquals(connection, request.listener().orElseThrow());
    assertEquals(
        ConnectionParameters.DEFAULT
            .withResponderResources(4)
            .withInitiatorDepth(5)
            .withFlowControl()
            .withRetryCount(6)
            .withRnrRetryCount(7)
            .withSharedReceiveQueue()
            .withQueuePairNumber(0x123456),
        request.connection().orElseThrow());
    data.fill((byte) 9);
    assertArrayEquals(new byte[] {1, 2, 0}, request.privateData());
  }

  @Test
  void foundServiceHasItsAddress() {
    MemorySegment event = cm.event(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), 0, service.segment());
    MemorySegment ud = rdma_cm_event.param.ud(rdma_cm_event.param(event));
    ibv_ah_attr.port_num(rdma_ud_param.ah_attr(ud), (byte) 2);
    rdma_ud_param.qp_num(ud, 0xabcdef);
    rdma_ud_param.qkey(ud, 0x01234567);
    rdma_ud_param.private_data(ud, cm.bytes((byte) 3));
    rdma_ud_param.private_data_len(ud, (byte) 1);

    ConnectionEvent found = channel.poll();
    DatagramParameters datagram = found.datagram().orElseThrow();
    assertEquals(2, datagram.path().port());
    assertEquals(0xabcdef, datagram.queuePairNumber());
    assertEquals(0x01234567, datagram.queueKey());
    assertArrayEquals(new byte[] {3}, found.privateData());
    assertEquals(Optional.empty(), found.connection());
  }

  @ParameterizedTest
  @CsvSource({
    "1, no datagram service listens on the port",
    "2, the datagram service rejects the request",
    "3, the datagram service has no queue pair",
    "77, status 77"
  })
  void unreachableServiceHasItsStatus(int status, String reason) {
    cm.event(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), status, service.segment());
    assertEquals("the peer does not answer: " + reason, channel.poll().description());
  }

  @Test
  void joinEventHasTheContextOfTheJoin() {
    for (int type :
        List.of(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN(), rdma_h.RDMA_CM_EVENT_MULTICAST_ERROR())) {
      boolean joined = type == rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN();
      MemorySegment event = cm.event(type, joined ? 0 : -Errno.ENODEV, service.segment());
      MemorySegment ud = rdma_cm_event.param.ud(rdma_cm_event.param(event));
      ibv_ah_attr.port_num(rdma_ud_param.ah_attr(ud), (byte) 1);
      rdma_ud_param.qp_num(ud, 0xff_ffff);
      // The context stands where other events have a pointer to private data.
      rdma_ud_param.private_data(ud, MemorySegment.ofAddress(0x1234_5678_9abcL));

      ConnectionEvent group = channel.poll();
      assertEquals(joined ? EventType.MULTICAST_JOIN : EventType.MULTICAST_ERROR, group.type());
      assertEquals(0x1234_5678_9abcL, group.argument());
      assertEquals(joined, group.datagram().isPresent());
      assertEquals(!joined, group.isFailure());
      assertEquals(0, group.privateData().length);
    }
  }

  @Test
  void acknowledgesOnce() {
    long first = cm.event(10, 0, connection.segment()).address();
    long second = cm.event(15, 0, connection.segment()).address();
    assertEquals(EventType.DISCONNECTED, channel.poll().type());
    assertEquals(List.of(first), cm.acknowledged);
    connection.close();
    assertNull(channel.poll());
    assertEquals(List.of(first, second), cm.acknowledged);
  }

  @Test
  void requestToAClosedListenerIsReturned() {
    MemorySegment asking = cm.id(rdma_h.RDMA_PS_TCP());
    MemorySegment event = cm.event(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0, asking);
    rdma_cm_event.listen_id(event, connection.segment());
    connection.close();
    assertNull(channel.poll());
    assertTrue(cm.destroyed.contains(asking.address()));
    assertEquals(List.of(event.address()), cm.acknowledged);
  }

  @Test
  void closesIdentifiersFirst() {
    long one = connection.segment().address();
    long other = service.segment().address();
    channel.close();
    assertEquals(List.of(other, one), cm.destroyed);
    assertFalse(connection.isOpen());
  }
}
