package dev.verbena.internal.management;

import dev.verbena.attributes.Counter;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.function.Supplier;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;

/** The counters of a device: an attribute for each, of which the device decides which there are. */
public final class CountersBean implements DynamicMBean {
  private final Supplier<Map<String, Counter>> counters;

  private CountersBean(Supplier<Map<String, Counter>> counters) {
    this.counters = counters;
  }

  /**
   * Registers the counters of a device.
   *
   * @param counters returns the current values by the names of the attributes
   * @throws IllegalStateException if those of a device of this name are registered
   */
  public static void register(String device, Supplier<Map<String, Counter>> counters) {
    try {
      ManagementFactory.getPlatformMBeanServer()
          .registerMBean(new CountersBean(counters), nameOf(device));
    } catch (InstanceAlreadyExistsException e) {
      throw new IllegalStateException("a context of device " + device + " is exported already", e);
    } catch (JMException e) {
      throw new IllegalStateException("registering the MBean of device " + device, e);
    }
  }

  /** Unregisters the counters of a device, unless the program has. */
  public static void unregister(String device) {
    try {
      ObjectName name = nameOf(device);
      if (ManagementFactory.getPlatformMBeanServer().isRegistered(name)) {
        ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
      }
    } catch (JMException e) {
      throw new IllegalStateException("unregistering the MBean of device " + device, e);
    }
  }

  private static ObjectName nameOf(String device) throws JMException {
    String value = device.matches("[\\w.-]+") ? device : ObjectName.quote(device);
    return new ObjectName("dev.verbena:type=Statistics,device=" + value);
  }

  @Override
  public MBeanInfo getMBeanInfo() {
    MBeanAttributeInfo[] attributes =
        counters.get().entrySet().stream()
            .map(
                e ->
                    new MBeanAttributeInfo(
                        e.getKey(), "long", text(e.getValue()), true, false, false))
            .toArray(MBeanAttributeInfo[]::new);
    return new MBeanInfo(
        CountersBean.class.getName(), "Counters of an RDMA device", attributes, null, null, null);
  }

  private static String text(Counter counter) {
    return counter.unit().isEmpty()
        ? counter.name()
        : counter.description() + " (" + counter.unit() + ")";
  }

  @Override
  public Object getAttribute(String name) throws AttributeNotFoundException {
    Counter counter = counters.get().get(name);
    if (counter == null) {
      throw new AttributeNotFoundException("the device has no counter " + name);
    }
    return counter.value();
  }

  @Override
  public AttributeList getAttributes(String[] names) {
    Map<String, Counter> current = counters.get();
    AttributeList found = new AttributeList();
    for (String name : names) {
      Counter counter = current.get(name);
      if (counter != null) {
        found.add(new Attribute(name, counter.value()));
      }
    }
    return found;
  }

  @Override
  public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
    throw new AttributeNotFoundException("counters are not writable: " + attribute.getName());
  }

  /** No attribute is writable: none is set. */
  @Override
  public AttributeList setAttributes(AttributeList attributes) {
    return new AttributeList();
  }

  @Override
  public Object invoke(String action, Object[] parameters, String[] signature) {
    throw new UnsupportedOperationException("counters have no operations: " + action);
  }
}
