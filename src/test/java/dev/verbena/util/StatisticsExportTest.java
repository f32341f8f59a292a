package dev.verbena.util;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftHosts;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import javax.management.Attribute;
import javax.management.AttributeNotFoundException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.RuntimeMBeanException;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Counters as an MBean and as events of Flight Recorder. */
@Tag("host")
class StatisticsExportTest {
  private static final MBeanServer BEANS = ManagementFactory.getPlatformMBeanServer();

  private static ObjectName nameOf(String device) throws JMException {
    return new ObjectName("dev.verbena:type=Statistics,device=" + device);
  }

  @Test
  void countersAreAttributesOfAnMBean() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        StatisticsExport export = StatisticsExport.start(hosts.clientContext())) {
      assertEquals("export of the statistics of client", export.toString());
      ObjectName name = nameOf("client");
      hosts.client().send(new byte[1]);
      assertEquals(1L, BEANS.getAttribute(name, "messages/connection_requests"));
      hosts.client().send(new byte[1]);
      assertEquals(2L, BEANS.getAttribute(name, "messages/connection_requests"));
      assertEquals(
          Arrays.asList(
              new Attribute("messages/connections_opened", 1L),
              new Attribute("hw_counters/retry_exceeded_err", 0L)),
          BEANS.getAttributes(
              name,
              new String[] {
                "messages/connections_opened", "other", "hw_counters/retry_exceeded_err"
              }));
      MBeanAttributeInfo[] attributes = BEANS.getMBeanInfo(name).getAttributes();
      assertEquals(27, attributes.length);
      for (MBeanAttributeInfo attribute : attributes) {
        assertEquals("long", attribute.getType());
        assertTrue(attribute.isReadable() && !attribute.isWritable(), attribute::toString);
        assertTrue(attribute.getDescription().contains("("), attribute::toString);
      }
      assertThrows(AttributeNotFoundException.class, () -> BEANS.getAttribute(name, "other"));
      assertThrows(
          AttributeNotFoundException.class,
          () -> BEANS.setAttribute(name, new Attribute("hw_counters/sent_pkts", 0L)));
    }
  }

  @Test
  void theBeanIsGoneOnceTheExportOrItsContextIsClosed() throws Exception {
    ObjectName name = nameOf("closing");
    try (SoftNetwork network = SoftNetwork.create()) {
      try (Context context = network.addDevice("closing").open()) {
        StatisticsExport export = StatisticsExport.start(context);
        assertTrue(BEANS.isRegistered(name));
        export.close();
        assertFalse(BEANS.isRegistered(name));
        export.close();
        StatisticsExport _ = StatisticsExport.start(context);
        assertTrue(BEANS.isRegistered(name));
      }
      assertFalse(BEANS.isRegistered(name));
    }
  }

  @Test
  void aDeviceIsExportedOnce() throws Exception {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("once").open();
        Context other = context.device().open()) {
      StatisticsExport export = StatisticsExport.start(context);
      IllegalStateException refused =
          assertThrows(IllegalStateException.class, () -> StatisticsExport.start(other));
      assertEquals("a context of device once is exported already", refused.getMessage());
      export.close();
      StatisticsExport _ = StatisticsExport.start(other);
      assertTrue(BEANS.isRegistered(nameOf("once")));
    }
  }

  @Test
  void aNameOfADeviceIsQuotedIfItMustBe() throws Exception {
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("a,b*").open();
        StatisticsExport _ = StatisticsExport.start(context)) {
      assertTrue(BEANS.isRegistered(nameOf(ObjectName.quote("a,b*"))));
    }
  }

  @Test
  void anExportOfAClosedContextIsRefused() {
    try (SoftNetwork network = SoftNetwork.create()) {
      Context context = network.addDevice("closed").open();
      context.close();
      assertThrows(IllegalStateException.class, () -> StatisticsExport.start(context));
    }
  }

  /** Records the counters of a device, until a test has seen what it waits for. */
  private static RecordingStream recording(String device, Queue<RecordedEvent> events) {
    RecordingStream stream = new RecordingStream();
    stream.setReuse(false);
    stream.enable("dev.verbena.Counter").withPeriod(Duration.ofMillis(20));
    stream.onEvent(
        "dev.verbena.Counter",
        event -> {
          if (event.getString("device").equals(device)) {
            events.add(event);
          }
        });
    stream.startAsync();
    return stream;
  }

  @Test
  void countersAreEventsWhileTheExportIsOpen() throws Exception {
    Queue<RecordedEvent> events = new ConcurrentLinkedQueue<>();
    try (SoftNetwork network = SoftNetwork.create();
        Context context = network.addDevice("recorded").open()) {
      try (StatisticsExport _ = StatisticsExport.start(context);
          RecordingStream stream = recording("recorded", events)) {
        Await.until("events", () -> events.size() >= 20);
        stream.stop();
      }
      for (RecordedEvent event : events) {
        assertTrue(event.getString("counter").startsWith("hw_counters/"), event::toString);
        assertEquals(0, event.getLong("value"));
      }
      events.clear();
      try (RecordingStream stream = recording("recorded", events)) {
        Await.pass(Duration.ofMillis(100), "no export is open: no event is recorded");
        stream.stop();
      }
      assertEquals(0, events.size(), events::toString);
    }
  }

  /** Reads until the bean is gone, or its context is being closed. */
  private static long readUntilGone(ObjectName name) throws JMException {
    for (long reads = 0; ; reads++) {
      try {
        var _ = BEANS.getAttribute(name, "hw_counters/sent_pkts");
        var _ = BEANS.getMBeanInfo(name);
      } catch (InstanceNotFoundException e) {
        return reads;
      } catch (RuntimeMBeanException e) { // The context is being closed.
        assertEquals(IllegalStateException.class, e.getCause().getClass(), e::toString);
        return reads;
      }
    }
  }

  @Test
  void contextsAreClosedWhileBeansAndEventsRead() throws Exception {
    ObjectName name = nameOf("raced");
    try (SoftNetwork network = SoftNetwork.create();
        RecordingStream stream = new RecordingStream()) {
      Device device = network.addDevice("raced");
      stream.enable("dev.verbena.Counter").withPeriod(Duration.ofMillis(1));
      stream.startAsync();
      for (int i = 0; i < 30; i++) {
        Context context = device.open();
        StatisticsExport _ = StatisticsExport.start(context);
        FutureTask<Long> first = Background.inBackground(() -> readUntilGone(name));
        FutureTask<Long> second = Background.inBackground(() -> readUntilGone(name));
        if (i == 15) {
          network.removeDevice("raced");
          device = network.addDevice("raced");
        }
        context.close();
        assertTrue(first.get() + second.get() >= 0);
        assertFalse(BEANS.isRegistered(name));
      }
    }
  }

  @Test
  void anExportNeedsOneOfTheModules() throws IOException {
    assertEquals("refused, 10 counters", inJvmWith("java.base"));
    assertEquals("exported, 10 counters", inJvmWith("java.base,jdk.jfr"));
    assertEquals("exported, 10 counters", inJvmWith("java.base,java.management"));
  }

  private static String inJvmWith(String modules) throws IOException {
    return new ForkedJvm()
        .withNativeAccess()
        .with("--limit-modules", modules)
        .run(Exporting.class)
        .succeeded()
        .strip();
  }

  /** Exports the statistics of a device. */
  public static final class Exporting {
    private Exporting() {}

    /** Prints what happens. */
    public static void main(String[] arguments) {
      try (SoftNetwork network = SoftNetwork.create();
          Context context = network.addDevice("soft0").open()) {
        String result = "exported";
        try {
          StatisticsExport.start(context).close();
        } catch (UnsupportedOperationException e) {
          result = "refused";
        }
        System.out.println(result + ", " + context.statistics().device().size() + " counters");
      }
    }
  }
}
